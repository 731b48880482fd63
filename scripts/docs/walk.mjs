// Follows a document as its reader would: its marked blocks, one after the other in one shell, and what they have to print.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocksOf } from './blocks.mjs';
import { openShell, openTerminal } from './terminal.mjs';

const endOfFile = 'END_OF_THE_BLOCK';
const programs = { ts: 'node', python: 'python3' };
const extensions = { ts: 'ts', python: 'py' };

/** The value of a mark such as `as=stream.ts`. */
export const markOf = ({ marks }, name) => marks.find((mark) => mark.startsWith(`${name}=`))?.slice(name.length + 1);
/** The needs of a block, as `needs=docker,registry`. */
export const needsOf = (block) => markOf(block, 'needs')?.split(',') ?? [];
/** True for a block that is run, or saved as a file for one that is. */
const isStep = (block) =>
  block.marks.includes('run') || (block.marks.every((mark) => /^(as|file)=/.test(mark)) && markOf(block, 'as') !== undefined);

/**
 * The steps of a document on a machine that has `needs`. `run` runs a block, where a program is saved as a file first; `in=repository` runs it in the
 * repository's folder instead of the reader's own; `terminal` runs it in a terminal of its own, which stays open until the end; `as=NAME` saves it in the
 * reader's folder for commands below. A block marked `output` is what the one before it prints.
 */
export function stepsOf(text, needs = new Set()) {
  const blocks = blocksOf(text);
  return blocks.flatMap((block, index) => {
    if (!isStep(block) || !needsOf(block).every((need) => needs.has(need))) return [];
    const next = blocks[index + 1];
    return [{ ...block, output: next?.marks.includes('output') ? next.content : undefined }];
  });
}

/** The text of a shell that does a step. */
function scriptOf(step, repository) {
  const { language, content, line } = step;
  if (language === 'sh') return markOf(step, 'in') === 'repository' ? `pushd ${repository} >&2\n${content}\npopd >&2` : content;
  const file = markOf(step, 'as') ?? `block-${line}.${extensions[language]}`;
  const save = `cat >${file} <<'${endOfFile}'\n${content}\n${endOfFile}`;
  return step.marks.includes('run') ? `${save}\n${programs[language]} ${file}` : save;
}

/** The expected output as a pattern, in which … stands for any text. */
const patternOf = (output) =>
  output
    .trim()
    .split('…')
    .map((part) => part.replaceAll(/[{}[\]().*+?^$|\\/]/g, '\\$&'))
    .join('[\\s\\S]*');

/**
 * Runs the steps of a document and returns what each printed. `adapt` replaces what differs between a reader's machine and this one. `faults` names the
 * steps that printed something else than the document says. A command that fails is an error. `report` gets each step that was run, with its seconds.
 */
export async function walk(text, { cwd, env, repository, adapt = (script) => script, needs, timeoutMs, report = () => undefined }) {
  const steps = stepsOf(text, needs);
  const scripts = mkdtempSync(join(tmpdir(), 'document-'));
  const options = { cwd, env, limit: AbortSignal.timeout(timeoutMs) };
  const shell = openShell(options);
  const terminals = [];
  const [outputs, faults] = [[], []];
  const run = async (step) => {
    const script = adapt(scriptOf(step, repository));
    if (!step.marks.includes('terminal')) {
      const file = join(scripts, `${step.line}.sh`);
      writeFileSync(file, script);
      return await shell.run(file);
    }
    const terminal = openTerminal(script, options);
    terminals.push(terminal);
    await terminal.waitFor(new RegExp(patternOf(adapt(step.output ?? '…'))));
    return terminal.readOutput();
  };
  try {
    for (const step of steps) {
      const began = performance.now();
      const output = await run(step).catch((cause) => {
        throw new Error(`line ${step.line}: ${cause.message}`, { cause });
      });
      outputs.push(output);
      report(step, (performance.now() - began) / 1000);
      if (step.output !== undefined && !step.marks.includes('terminal') && !new RegExp(`^${patternOf(adapt(step.output))}$`).test(output))
        faults.push(`line ${step.line} printed\n${output}\nand not\n${step.output}`);
    }
  } finally {
    for (const terminal of terminals.reverse()) await terminal.close();
    await shell.close();
    rmSync(scripts, { recursive: true, force: true });
  }
  return { outputs, faults };
}
