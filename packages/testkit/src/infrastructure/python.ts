import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '@agent-service/local/host/environment';

/** The folder of programs of a Python environment with these packages of PyPI. Kept from run to run, because an installation takes a minute. */
export async function pythonWith(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(repositoryRoot, '.cache', 'python', name);
  const done = join(folder, 'installed');
  try {
    if (readFileSync(done, 'utf8') === packages.join(' ')) return join(folder, 'bin');
  } catch {
    // It is not installed yet.
  }
  mkdirSync(dirname(folder), { recursive: true });
  await runProgram('python3', ['-m', 'venv', '--clear', folder]);
  await runProgram(join(folder, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages]);
  writeFileSync(done, packages.join(' '));
  return join(folder, 'bin');
}

interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The exit codes that are no failure. */
  readonly accepted?: readonly number[];
}

/** Runs a program to its end and returns what it wrote; throws with that where it failed. */
export async function runProgram(
  command: string,
  words: readonly string[],
  { cwd = repositoryRoot, env = {}, accepted = [0] }: ProgramOptions = {},
): Promise<string> {
  const child = spawn(command, words, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = await once(child, 'close');
  if (!accepted.includes(code)) throw new Error(`${command} ${words.join(' ')} ended with ${code}:\n${output}`);
  return output;
}
