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
