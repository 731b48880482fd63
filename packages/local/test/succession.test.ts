import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { writeJson } from '../src/host/files.ts';
import { takeFolder } from '../src/processes/ownership.ts';
import { markOf } from '../src/processes/process-mark.ts';
import { hasEnded, readData } from './support.ts';

const script = fileURLToPath(new URL('./take-folder.ts', import.meta.url));
const dead = { pid: 2 ** 22, startTime: '1' };

async function folderOfDeadOwner(processes: object = {}): Promise<string> {
  const folder = await testFolder();
  writeJson(join(folder, 'supervisor.json'), { supervisor: dead, processes });
  return folder;
}

test('of two starts that find a dead owner, one replaces it and stops its processes; the other is refused', async () => {
  const slow = spawn(process.execPath, [
    '-e',
    "process.on('SIGTERM', () => setTimeout(process.exit, 200)); console.log('up'); setInterval(() => undefined, 1000)",
  ]);
  await once(slow.stdout, 'data');
  const left = { ...markOf(slow.pid ?? 0), stopSignal: 'SIGTERM' };
  const folder = await folderOfDeadOwner({ left });
  const [one, other] = await Promise.allSettled([takeFolder(folder), takeFolder(folder)]);
  expect([one, other]).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { name: 'OperatorFault' } }]);
  expect(hasEnded(slow.pid ?? 0)).toBe(true);
  if (one.status === 'fulfilled') one.value.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('of many starts at once after a dead owner, exactly one runs', async () => {
  for (let round = 0; round < 4; round++) {
    const folder = await folderOfDeadOwner();
    const starters = Array.from({ length: 4 }, () => spawn(process.execPath, [script, folder], { stdio: ['pipe', 'pipe', 'inherit'] }));
    const lines = starters.map((starter) => createInterface(starter.stdout)[Symbol.asyncIterator]());
    const say = async () => (await Promise.all(lines.map((line) => line.next()))).map(({ value }) => String(value));
    expect(await say()).toEqual(['here', 'here', 'here', 'here']);
    for (const starter of starters) starter.stdin.write('go\n');
    const messages = await say();
    expect(messages.filter((line) => line === 'taken')).toHaveLength(1);
    expect(messages.filter((line) => line.startsWith('refused: A system already runs'))).toHaveLength(3);
    expect(readData(folder, 'supervisor.json')['supervisor']).toMatchObject({ pid: starters[messages.indexOf('taken')]?.pid });
    const ended = starters.map((starter) => once(starter, 'exit'));
    for (const starter of starters) starter.stdin.end();
    await Promise.all(ended);
  }
});

test('the claim of a process that died is taken over, and leaves no file', async () => {
  const folder = await folderOfDeadOwner();
  const claimant = { pid: 2 ** 22 + 1, startTime: 'Fri Nov 20 22:54:01 2026' };
  writeJson(join(folder, `supervisor.json.after-${dead.pid}-1`), { supervisor: claimant, processes: {} });
  (await takeFolder(folder)).release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a start that is slow to see that the owner is dead does not replace its successor', async () => {
  const folder = await folderOfDeadOwner();
  const owner = await takeFolder(folder);
  await expect(takeFolder(folder)).rejects.toThrow(`(pid ${process.pid})`);
  owner.release();
});
