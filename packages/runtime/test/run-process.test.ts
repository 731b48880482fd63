import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { supervised } from '../src/config.ts';

const program = fileURLToPath(new URL('./start-without-supervisor.mjs', import.meta.url));

test('a process whose supervisor dies while it starts stops gracefully', async () => {
  const child = spawn(process.execPath, [program, supervised], { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] });
  const ended = Promise.all([once(child, 'exit'), once(child.stdout as NodeJS.ReadableStream, 'end')]);
  const lines: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => lines.push(text));
  child.send('start');
  while (!lines.join('').includes('starting')) await once(child.stdout as NodeJS.ReadableStream, 'data');
  child.disconnect();
  child.stdin?.end();
  expect((await ended)[0]).toEqual([0, null]);
  expect(lines.join('')).toBe('starting\nwork is returned\n');
});

test.each([
  ['ends at a signal', '', [143, null]],
  ['that handles a signal itself ends by itself', `process.on('SIGTERM', () => setTimeout(() => process.exit(7), 50));`, [7, null]],
])('a task %s', async (_case, handler, ending) => {
  const { href } = new URL('../src/run-process.ts', import.meta.url);
  const task = `${handler} process.stdout.write('up'); await new Promise((resolve) => setTimeout(resolve, 60_000));`;
  const text = `const { runTask } = await import('${href}'); await runTask('test', async () => { ${task} });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill();
  expect(await once(child, 'exit')).toEqual(ending);
});
