import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { writeJson } from '../src/files.ts';
import { nextPause } from '../src/processes/backoff.ts';
import { manage } from '../src/processes/managed.ts';
import { takeFolder } from '../src/processes/ownership.ts';
import { outputTo, type ProcessSpec } from '../src/processes/spec.ts';
import { markOf } from '../src/processes/start-time.ts';
import { removeData } from '../src/remove-data.ts';
import { parseReplicas } from '../src/replicas.ts';
import { loadSecrets } from '../src/secrets.ts';
import { isGone, readData } from './support.ts';

const sleep = ['-e', 'setInterval(() => undefined, 1000)'];

test('pauses between lives double to ten seconds, and begin anew after a life of thirty', () => {
  const pauses: number[] = [];
  while (pauses.length < 7) pauses.push(nextPause(pauses.at(-1), 0));
  expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000]);
  expect(nextPause(10_000, 30_000)).toBe(200);
});

test('a process that does not end when asked is ended after its limit', async () => {
  const deaf = ['-e', "process.on('SIGTERM', () => undefined); console.log('deaf'); setInterval(() => undefined, 1000)"];
  const spec: ProcessSpec = {
    name: 'deaf',
    spawn: (log) => spawn(process.execPath, deaf, { detached: true, stdio: outputTo(log) }),
    isReady: async () => statSync(join(logFolder, 'deaf.log')).size > 0,
    stopSignal: 'SIGTERM',
    stopLimitMs: 100,
  };
  const logFolder = await testFolder();
  const managed = manage(spec, { logFolder, began: () => undefined, ended: () => undefined, report: () => undefined });
  await managed.start();
  const { pid = 0 } = managed;
  await managed.stop();
  expect([isGone(pid), managed.pid]).toEqual([true, undefined]);
});

test('what a dead supervisor left is stopped; a later process under the same pid is not touched', async () => {
  const folder = await testFolder();
  const [left, stranger] = [spawn(process.execPath, sleep), spawn(process.execPath, sleep)];
  const noted = { ...markOf(left.pid ?? 0), stopSignal: 'SIGTERM' };
  const reused = { pid: stranger.pid, startTime: 'another time', stopSignal: 'SIGKILL' };
  writeJson(join(folder, 'supervisor.json'), { supervisor: { pid: 2 ** 22, startTime: '1' }, processes: { left: noted, reused } });
  const ended = once(left, 'exit');
  const ownership = await takeFolder(folder);
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(isGone(stranger.pid ?? 0)).toBe(false);
  ownership.release();
  stranger.kill('SIGKILL');
});

test('reset removes what is ours, keeps what is not, and is refused while a supervisor lives', async () => {
  const folder = await testFolder();
  loadSecrets(folder, [], {});
  writeJson(join(folder, 'my-notes.json'), {});
  const ownership = await takeFolder(folder);
  await expect(removeData(folder)).rejects.toThrow('A system already runs');
  ownership.release();
  expect(await removeData(folder)).toEqual(['my-notes.json']);
  expect(await removeData(join(folder, 'never-made'))).toEqual([]);
});

test('secrets are made once, for every service, and only their owner reads them', async () => {
  const folder = await testFolder();
  const first = loadSecrets(folder, ['identity'], {});
  const second = loadSecrets(folder, ['identity', 'answer-worker'], { SERVICE_SECRET: 'from the environment' });
  expect(second.settings).toEqual({ ...first.settings, SERVICE_SECRET: 'from the environment' });
  expect(second.databasePassword('identity')).toBe(first.databasePassword('identity'));
  expect(readData(folder, 'secrets.json')).toHaveProperty('DATABASE_PASSWORD_ANSWER_WORKER', second.databasePassword('answer-worker'));
  expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
});

test.each(['identity', 'identity=', 'identity=0', 'identity=21', 'identity=two', '=2'])('REPLICAS="%s" is refused', (text) => {
  expect(() => parseReplicas(text, ['identity'])).toThrow('REPLICAS');
});
