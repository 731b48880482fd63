import { join } from 'node:path';
import { failureText } from '@agent-service/runtime/failures';
import { releaseMemoryWhenIdle } from '@agent-service/runtime/idle-memory';
import { repositoryRoot } from '../host/environment.ts';
import { banner } from './banner.ts';
import { type LocalOptions, type LocalSystem, startLocalSystem } from './system.ts';

/** Runs a system in the foreground until a signal. After it, and after a failed start, no process is left. */
export async function runUntilSignal(options: LocalOptions): Promise<void> {
  const stop = new AbortController();
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  // A terminal or pipe that is gone must not end the supervisor before it has stopped the rest.
  process.stdout.on('error', () => undefined);
  // A signal to the whole group arrives here and, through npm, once more; the second changes nothing.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  try {
    const system = await startLocalSystem({ ...options, report: say, signal: stop.signal });
    say(banner({ ...system, stop: 'Ctrl-C', rows: foldersOf(system) }));
    releaseMemoryWhenIdle();
    await untilAborted(stop.signal);
    say('Stopping …');
    await system.stop();
    say('Stopped.');
  } catch (cause) {
    if (stop.signal.aborted) return say('Stopped.');
    process.stderr.write(`\n${failureText(cause)}\n`);
    process.exitCode = 1;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  // The timer keeps this process alive when all servers run elsewhere.
  const alive = setInterval(() => undefined, 60_000);
  return new Promise((resolve) => {
    const done = () => {
      clearInterval(alive);
      resolve();
    };
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}

const usualDataDir = join(repositoryRoot, '.data');

/** The text as one word of a POSIX shell. */
const shellWord = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const foldersOf = ({ dataDir }: LocalSystem): [string, string][] => [
  ['Logs', join(dataDir, 'logs')],
  ['Data', `${dataDir}   (${dataDir === usualDataDir ? '' : `DATA_DIR=${shellWord(dataDir)} `}npm run reset removes it)`],
];
