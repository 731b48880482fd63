import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { isFree } from '../src/host/ports.ts';
import { hasEnded, ownEnvironment, pidsIn, startFakes } from './support.ts';

const script = fileURLToPath(new URL('./fake-start.ts', import.meta.url));

/** A supervisor in a process of its own, as `npm start` makes it. */
function startSupervisor(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [script], { env, stdio: 'ignore' });
}

async function untilUp(env: Record<string, string>): Promise<Record<string, number>> {
  const { DATA_DIR = '' } = env;
  await until('the gateway runs', async () => 'gateway' in pidsIn(DATA_DIR) && !(await isFree(Number(env['PORT']))));
  return pidsIn(DATA_DIR);
}

test('after kill -9 of the supervisor its services end, and the next start stops the rest and works', async () => {
  const env = await ownEnvironment();
  const supervisor = startSupervisor(env);
  const { gateway = 0, identity = 0, postgres = 0, redis = 0 } = await untilUp(env);
  supervisor.kill('SIGKILL');
  await until('the services are gone', () => hasEnded(gateway) && hasEnded(identity));
  expect([hasEnded(postgres), hasEnded(redis)]).toEqual([false, false]);
  const system = await startFakes(env);
  expect([hasEnded(postgres), hasEnded(redis)]).toEqual([true, true]);
  expect(Object.keys(pidsIn(system.dataDir)).sort()).toEqual(['answer-worker', 'gateway', 'identity', 'postgres', 'redis']);
  await system.stop();
});

test('signals, also two at once, stop everything and the exit code is 0', async () => {
  const env = await ownEnvironment();
  const supervisor = startSupervisor(env);
  const pids = await untilUp(env);
  supervisor.kill('SIGINT');
  supervisor.kill('SIGTERM');
  expect(await once(supervisor, 'exit')).toEqual([0, null]);
  expect(Object.values(pids).filter((pid) => !hasEnded(pid))).toEqual([]);
});

test('a signal in the middle of a start stops what runs by then', async () => {
  const env = await ownEnvironment();
  const supervisor = startSupervisor(env);
  await until('postgres runs', () => 'postgres' in pidsIn(env['DATA_DIR'] as string));
  const pids = Object.values(pidsIn(env['DATA_DIR'] as string));
  supervisor.kill('SIGINT');
  expect(await once(supervisor, 'exit')).toEqual([0, null]);
  expect(pids.filter((pid) => !hasEnded(pid))).toEqual([]);
});
