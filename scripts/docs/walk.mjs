// Follows a document as its reader would: its marked blocks, one after the other in one shell, and what they have to print.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { blocksOf } from './blocks.mjs';

const separator = '=== the next block';
const endOfFile = 'END_OF_THE_BLOCK';
const programs = { ts: 'node', python: 'python3' };
const extensions = { ts: 'ts', python: 'py' };

/** The value of a mark such as `as=stream.ts`. */
export const markOf = ({ marks }, name) => marks.find((mark) => mark.startsWith(`${name}=`))?.slice(name.length + 1);
/** True for a block that is run, or saved as a file for one that is. */
const isStep = (block) =>
  block.marks.includes('run') || (block.marks.every((mark) => /^(as|file)=/.test(mark)) && markOf(block, 'as') !== undefined);

/**
 * The steps of a document. `run` runs a block, where a program is saved as a file first; `in=repository` runs it in the repository's folder instead of the
 * reader's own; `as=NAME` saves it in the reader's folder for commands below. A block marked `output` is what the one before it prints.
 */
export function stepsOf(text) {
  const blocks = blocksOf(text);
  return blocks.flatMap((block, index) => {
    if (!isStep(block)) return [];
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
 * steps that printed something else than the document says.
 */
export async function walk(text, { cwd, env, repository, adapt = (script) => script, timeoutMs }) {
  const steps = stepsOf(text);
  const script = steps.map((step) => adapt(scriptOf(step, repository))).join(`\necho; echo "${separator}"\n`);
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd, env, timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 });
  const outputs = stdout.split(separator).map((output) => output.trim());
  const faults = steps.flatMap(({ output, line }, index) => {
    if (output === undefined || new RegExp(`^${patternOf(output)}$`).test(outputs[index] ?? '')) return [];
    return [`line ${line} printed\n${outputs[index]}\nand not\n${output}`];
  });
  if (outputs.length !== steps.length) faults.push(`${outputs.length} of ${steps.length} blocks were run`);
  return { outputs, faults };
}
