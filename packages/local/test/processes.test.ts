import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, testFolder, until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { writeJson } from '../src/host/files.ts';
import { manage, nextPause, type Supervision } from '../src/processes/managed.ts';
import { takeFolder } from '../src/processes/ownership.ts';
import { markOf } from '../src/processes/process-mark.ts';
import { nodeProcess, outputTo, type ProcessSpec } from '../src/processes/spec.ts';
import { parseReplicas } from '../src/system/plan.ts';
import { removeData } from '../src/system/remove-data.ts';
import { loadSecrets } from '../src/system/secrets.ts';
import { openRegistry } from '../src/system/stack.ts';
import { hasEnded, readData } from './support.ts';

const sleep = ['-e', 'setInterval(() => undefined, 1000)'];

test('pauses between lives double to ten seconds, and start over after a run of thirty', () => {
  const pauses: number[] = [];
  while (pauses.length < 7) pauses.push(nextPause(pauses.at(-1), 0));
  expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000]);
  expect(nextPause(10_000, 30_000)).toBe(200);
});

const supervisionOf = (logFolder: string, timing: NonNullable<Supervision['timing']> = {}): Supervision => ({
  logFolder,
  timing,
  began: () => undefined,
  ended: () => undefined,
  report: () => undefined,
});

/** A program of ours that is ready when this says so. */
const script = (name: string, code: string, isReady: () => boolean): ProcessSpec => ({
  name,
  spawn: (log) => spawn(process.execPath, ['-e', code], { detached: true, stdio: outputTo(log) }),
  isReady: async () => isReady(),
  stopSignal: 'SIGTERM',
  stopLimitMs: 2_000,
});

test('a process that dies is started again where its death cannot be written down, which is reported once', async () => {
  const reports: string[] = [];
  const full = () => {
    throw new Error('no space left on device');
  };
  const managed = manage(
    script('mortal', 'setTimeout(() => undefined, 20)', () => true),
    {
      ...supervisionOf(await testFolder(), { nextPause: () => 1 }),
      began: full,
      ended: full,
      report: (line) => reports.push(line),
    },
  );
  managed.begin();
  await until('it died and was started again twice', () => reports.filter((line) => line.includes('starting it again')).length >= 2);
  await managed.stop();
  expect(reports.filter((line) => line.includes('cannot be written'))).toEqual([
    'the list of processes cannot be written: no space left on device',
  ]);
});

test('a process that restores its data is waited for beyond the limit, which is reported once', async () => {
  const reports: string[] = [];
  let checks = 0;
  const managed = manage(
    { ...script('restoring', sleep[1] as string, () => checks > 3), isRestoring: async () => (checks += 1) > 0 },
    { ...supervisionOf(await testFolder(), { readyLimitMs: 1 }), report: (line) => reports.push(line) },
  );
  await managed.start();
  await managed.stop();
  expect(reports).toEqual(['restoring restores its data after it was ended hard; waiting until it has']);
});

test('a process that is stopped while it is prepared does not run on', async () => {
  const prepared = Promise.withResolvers<void>();
  let preparing = false;
  const prepare = () => {
    preparing = true;
    return prepared.promise;
  };
  const pids: number[] = [];
  const managed = manage(
    { ...script('slow', 'setInterval(() => undefined, 1000)', () => true), prepare },
    { ...supervisionOf(await testFolder()), began: (_spec, pid) => void pids.push(pid) },
  );
  managed.begin();
  await until('it is being prepared', () => preparing);
  const stopped = managed.stop();
  prepared.resolve();
  await stopped;
  expect([managed.pid, pids.every(hasEnded)]).toEqual([undefined, true]);
});

test('the logs of a process that writes without end stay small, and its newest lines are there', async () => {
  const logFolder = await testFolder();
  const log = join(logFolder, 'chatty.log');
  const code =
    "let line = 0; setInterval(() => { for (let i = 0; i < 100; i++) console.log('line ' + line++ + ' ' + 'x'.repeat(90)); }, 1)";
  const rotations = new Set<number>();
  const managed = manage(
    script('chatty', code, () => existsSync(log)),
    supervisionOf(logFolder, { rotateEveryMs: 10, logLimitBytes: 200_000 }),
  );
  await managed.start();
  let largest = 0;
  await until('the log is rotated often', () => {
    largest = Math.max(largest, statSync(log).size);
    if (existsSync(`${log}.1`)) rotations.add(statSync(`${log}.1`).mtimeMs);
    return rotations.size > 10;
  });
  await managed.stop();
  expect(readdirSync(logFolder).sort()).toEqual(['chatty.log', 'chatty.log.1']);
  expect(statSync(`${log}.1`).size).toBe(200_000);
  // Emptied and not only cut: a process that did not append would leave a hole of NUL bytes.
  expect(readFileSync(log, 'utf8')).toMatch(/^(line \d+ x{90}\n)*$/);
  // All that was written would be more than ten times the limit.
  expect(largest).toBeLessThan(2_000_000);
});

test('a process that dies again and again leaves no more than one that died once', async () => {
  const folder = await testFolder();
  const registry = await openRegistry(folder);
  const reports: string[] = [];
  let lives = 0;
  const logFolder = join(folder, 'logs');
  mkdirSync(logFolder);
  const spec = {
    ...script('mortal', '', () => true),
    spawn: (log: number) => {
      lives++;
      // The first run lasts until it is killed: a start gives up after three deaths, and a process that was ready before goes on.
      const end = lives === 1 ? 'exec sleep 600' : 'exit 3';
      return spawn('/bin/sh', ['-c', `echo 'run ${lives} ${'x'.repeat(100)}'; ${end}`], { detached: true, stdio: outputTo(log) });
    },
  };
  const openFiles = () => readdirSync('/proc/self/fd').length;
  const openAtFirst = openFiles();
  const managed = manage(spec, {
    logFolder,
    timing: { nextPause: () => 0, logLimitBytes: 5_000, rotateEveryMs: 20 },
    began: (spec, pid) => registry.began(spec, pid),
    ended: (spec) => registry.ended(spec),
    report: (line) => reports.push(line),
  });
  await managed.start();
  managed.kill('SIGKILL');
  await until('it died often', () => lives > 150, 80_000);
  await managed.stop();
  expect(reports.length).toBeLessThanOrEqual(8);
  expect(reports.at(-1)).toContain('mortal ended with code 3 (128 deaths in a row)');
  expect(readdirSync(folder).sort()).toEqual(['logs', 'processes.json', 'supervisor.json']);
  expect(readdirSync(logFolder).sort()).toEqual(['mortal.log', 'mortal.log.1']);
  for (const name of ['mortal.log', 'mortal.log.1']) expect(statSync(join(logFolder, name)).size).toBeLessThan(40_000);
  expect(readData(folder, 'processes.json')).toEqual({});
  expect(readData(folder, 'supervisor.json')).toMatchObject({ processes: {} });
  expect(openFiles() - openAtFirst).toBeLessThan(5);
  registry.release();
});

test('drafts of a process that died as it wrote are removed by the next start, those of a live one are not', async () => {
  const folder = await testFolder();
  const dead = ['processes.json.4194303.0123abcd', 'supervisor.json.new.4194303', 'supervisor.json.new.4194303.4194303.0123abcd'];
  const others = [`supervisor.json.new.${process.ppid}`, 'my.json.backup'];
  for (const name of [...dead, ...others]) writeFileSync(join(folder, name), '');
  const registry = await openRegistry(folder);
  registry.release();
  expect(readdirSync(folder).sort()).toEqual([...others].sort());
});

test('a process that runs and does not become ready is named with what it says about itself', async () => {
  const logFolder = await testFolder();
  const faults = { clock: "this computer's clock is 3456000000 ms ahead of the clock that the service follows" };
  const port = await freePort();
  const code = `require('node:http').createServer((_, response) => { response.statusCode = 503;
    response.end(JSON.stringify(${JSON.stringify({ ready: false, faults })})) }).listen(${port}, '127.0.0.1')`;
  const { isReady, unreadyReason } = nodeProcess({ name: 'unready', entry: '', workingFolder: '/', env: {}, opsPort: port });
  const spec = { ...script('unready', code, () => false), isReady, ...(unreadyReason ? { unreadyReason } : {}) };
  const managed = manage(spec, supervisionOf(logFolder, { readyLimitMs: 3_000 }));
  await expect(managed.start()).rejects.toThrow(`unready was not ready after 3 s. It says: clock: ${faults.clock}.`);
});

test('a process that does not end when it is asked to is ended after its limit', async () => {
  const deaf = ['-e', "process.on('SIGTERM', () => undefined); console.log('deaf'); setInterval(() => undefined, 1000)"];
  const spec: ProcessSpec = {
    name: 'deaf',
    spawn: (log) => spawn(process.execPath, deaf, { detached: true, stdio: outputTo(log) }),
    isReady: async () => statSync(join(logFolder, 'deaf.log')).size > 0,
    stopSignal: 'SIGTERM',
    stopLimitMs: 100,
  };
  const logFolder = await testFolder();
  const managed = manage(spec, supervisionOf(logFolder));
  await managed.start();
  const { pid = 0 } = managed;
  await managed.stop();
  expect([hasEnded(pid), managed.pid]).toEqual([true, undefined]);
});

test('the processes of a dead supervisor are stopped; a later process under the same pid is not', async () => {
  const folder = await testFolder();
  const [left, stranger] = [spawn(process.execPath, sleep), spawn(process.execPath, sleep)];
  const noted = { ...markOf(left.pid ?? 0), stopSignal: 'SIGTERM' };
  const reused = { pid: stranger.pid, startTime: 'another time', stopSignal: 'SIGKILL' };
  writeJson(join(folder, 'supervisor.json'), { supervisor: { pid: 2 ** 22, startTime: '1' }, processes: { left: noted, reused } });
  const ended = once(left, 'exit');
  const ownership = await takeFolder(folder);
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(hasEnded(stranger.pid ?? 0)).toBe(false);
  ownership.release();
  stranger.kill('SIGKILL');
});

test('a copy of a folder in use is refused by name, and stops no process of the original; a moved folder is taken', async () => {
  const parent = await testFolder();
  const [original, copy, moved] = ['original', 'copy', 'moved'].map((name) => join(parent, name)) as [string, string, string];
  mkdirSync(original);
  const running = spawn(process.execPath, sleep);
  const ownership = await takeFolder(original);
  ownership.add('running', running.pid ?? 0, 'SIGKILL');
  cpSync(original, copy, { recursive: true });
  // The copy names the live supervisor, and then a dead one.
  for (const supervisor of [readData(copy, 'supervisor.json')['supervisor'], { pid: 2 ** 22, startTime: '1' }]) {
    writeJson(join(copy, 'supervisor.json'), { ...readData(copy, 'supervisor.json'), supervisor });
    await expect(takeFolder(copy)).rejects.toThrow(`${copy} is a copy of ${original}`);
    await expect(removeData(copy)).rejects.toThrow(`remove ${join(copy, 'supervisor.json')}`);
  }
  ownership.release();
  expect(hasEnded(running.pid ?? 0)).toBe(false);
  renameSync(copy, moved);
  rmSync(original, { recursive: true });
  const ended = once(running, 'exit');
  (await takeFolder(moved)).release();
  expect(await ended).toEqual([null, 'SIGKILL']);
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
  const ownSecret = 'from-the-environment-and-long-enough';
  const first = loadSecrets(folder, ['identity'], {});
  const second = loadSecrets(folder, ['identity', 'answer-worker'], { SERVICE_SECRET: ownSecret });
  expect(second.settings).toEqual({ ...first.settings, SERVICE_SECRET: ownSecret });
  expect(second.databasePassword('identity')).toBe(first.databasePassword('identity'));
  expect(readData(folder, 'secrets.json')).toHaveProperty('DATABASE_PASSWORD_ANSWER_WORKER', second.databasePassword('answer-worker'));
  expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
});

test.each(['identity', 'identity=', 'identity=0', 'identity=21', 'identity=two', '=2'])('REPLICAS="%s" is refused', (text) => {
  expect(() => parseReplicas(text, ['identity'])).toThrow('REPLICAS');
});
