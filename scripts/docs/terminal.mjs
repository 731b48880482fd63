// The shells in which a document is followed: one for its blocks, and a terminal of its own for a command that goes on until a reader interrupts it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const separator = '=== the next block';
/** A command that ignores Ctrl-C for so long is killed. */
const interruptLimitMs = 60_000;
const shownCharacters = 4000;

/** Starts bash in a process group of its own, and collects what it prints. `limit` is a signal after which waiting is in vain. */
function openBash(script, { cwd, env, limit }, stdio) {
  const child = spawn('bash', ['-euc', script], { cwd, env, detached: true, stdio });
  const printed = { stdout: '', all: '' };
  let waiting;
  const look = () => waiting?.check(printed) && waiting.resolve();
  const fail = (reason) => waiting?.reject(new Error(`${reason} before ${waiting.what}:\n${printed.all.slice(-shownCharacters)}`));
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    printed.stdout += chunk;
    printed.all += chunk;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    printed.all += chunk;
    look();
  });
  let end;
  const ended = once(child, 'close').then(([code, signal]) => {
    end = `the shell ended with ${signal ?? code}`;
    fail(end);
  });
  limit?.addEventListener('abort', () => fail('the time was over'), { once: true });
  /** Resolves when what is printed passes `check`; the end of the shell and the limit are errors that show the last that it printed. */
  const until = (what, check) =>
    new Promise((resolve, reject) => {
      waiting = { what, check, resolve, reject };
      look();
      if (end ?? limit?.aborted) fail(end ?? 'the time was over');
    });
  const signal = (name) => void (end ?? process.kill(-child.pid, name));
  return { child, printed, ended, until, signal };
}

/** A terminal whose command goes on: `waitFor` waits for a text, and `close` presses Ctrl-C. */
export function openTerminal(script, options) {
  const { printed, ended, until, signal } = openBash(script, options, ['ignore', 'pipe', 'pipe']);
  return {
    waitFor: (pattern) => until(`it printed ${pattern}`, ({ all }) => pattern.test(all)),
    readOutput: () => printed.all,
    async close() {
      signal('SIGINT');
      const kill = setTimeout(() => signal('SIGKILL'), interruptLimitMs);
      await ended;
      clearTimeout(kill);
    },
  };
}

/** A shell that runs one script after the other and keeps their variables, functions and folder. The first command that fails ends it. */
export function openShell(options) {
  // The names of the scripts come through a pipe of their own, so that no command can read them from its input.
  const loop = `while read -r -u 3 script; do . "$script" </dev/null 3<&-; printf '\\n%s\\n' '${separator}'; done`;
  const { child, printed, ended, until, signal } = openBash(loop, options, ['ignore', 'pipe', 'pipe', 'pipe']);
  child.stdio[3].on('error', () => undefined);
  return {
    /** Runs the script in this file, and returns what it wrote to its standard output. */
    async run(file) {
      printed.stdout = '';
      printed.all = '';
      child.stdio[3].write(`${file}\n`);
      await until('the block was done', ({ stdout }) => stdout.includes(`\n${separator}\n`));
      return printed.stdout.slice(0, printed.stdout.indexOf(`\n${separator}\n`)).trim();
    },
    async close() {
      signal('SIGKILL');
      await ended;
    },
  };
}
