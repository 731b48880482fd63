import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { until } from '@agent-service/local/host/waiting';
import { createMetrics, type ProcessContext } from '@agent-service/runtime';
import { nodeOptions } from '@agent-service/runtime/config';
import { testFolder } from '@agent-service/testkit';
import { tenantName } from '@agent-service/work';
import { afterEach, expect, test } from '@jest/globals';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import { createStatementGate, type GateOptions, openStatementGate, type StatementGate } from '../src/threads/statement-gate.ts';
import { scope } from './support/gate-catalog.ts';

const hostile = new URL('./support/hostile-gate-thread.ts', import.meta.url);
const open: StatementGate[] = [];
afterEach(async () => void (await Promise.all(open.splice(0).map((gate) => gate.close()))));

/** A gate, and the reports to its listener. */
function gateOf(options: GateOptions = {}) {
  const lost: string[] = [];
  let ready = 0;
  const gate = createStatementGate({
    ...options,
    listener: { onThreads: (count) => void (ready = count), onLost: (reason) => void lost.push(reason), onDone: () => undefined },
  });
  open.push(gate);
  return { gate, lost, ready: () => ready };
}

const honest = 'select a from t where id = 1';
const passed = expect.objectContaining({ text: expect.stringMatching(/FROM \( ?SELECT/) });
const tooMuch = { kind: 'refused', message: expect.stringContaining('too much time or memory') };

const depths: readonly ((count: number) => string)[] = [
  (count) => `select 1${'+1'.repeat(count)}`,
  (count) => `select ${'not '.repeat(count / 2)}true`,
  (count) => `select ${'(select '.repeat(count / 5)}1${')'.repeat(count / 5)}`,
  (count) => `select ${'abs('.repeat(count / 3)}1${')'.repeat(count / 3)}`,
  (count) => `select 1${'::int'.repeat(count / 3)}`,
  (count) => `select 1${' union select 1'.repeat(count / 8)}`,
  (count) => `select ${'case when '.repeat(count / 12)}true${' then true end'.repeat(count / 12)}`,
  (count) => `select ${'('.repeat(count)}1${')'.repeat(count)}`,
];

const statements = Number(process.env['GATE_STATEMENTS'] ?? 48);

test(`of ${statements} statements to one thread, most of them deep, every honest one passes and memory stays flat`, async () => {
  const { gate, lost } = gateOf({ threads: 1 });
  const [attacker, honestTenant] = [gate.of('attacker'), gate.of('honest')];
  let refused = 0;
  let flatFrom = 0;
  for (let number = 0; number < statements; number += 1) {
    const text = depths[number % depths.length]?.(5_000 + (number % 23) * 100) ?? '';
    const [deep, plain] = await Promise.allSettled([attacker.pass(text, scope), honestTenant.pass(honest, scope)]);
    if (deep.status === 'rejected') refused += 1;
    expect(plain).toEqual({ status: 'fulfilled', value: passed });
    if (number === Math.floor(statements / 3)) flatFrom = process.memoryUsage.rss();
  }
  // Parentheses alone make no depth; everything else is refused before it can do harm.
  expect(refused).toBeGreaterThanOrEqual(Math.floor((statements * 7) / 8));
  expect(lost).toEqual([]);
  const grown = process.memoryUsage.rss() - flatFrom;
  process.stderr.write(`memory grew by ${Math.round(grown / 1024 / 1024)} MB over the last two thirds\n`);
  expect(grown).toBeLessThan(96 * 1024 * 1024);
}, 600_000);

/**
 * Counts the honest statements that begin and end while the work goes on and no thread is lost: they wait for none that an attacker holds.
 * By the number of threads that were lost before.
 */
async function countUndisturbed(gate: StatementGate, lost: readonly string[], work: Promise<unknown>): Promise<readonly number[]> {
  let isOver = false;
  void work.then(() => (isOver = true));
  const counts: number[] = [];
  for (let number = 0; !isOver; number += 1) {
    const before = lost.length;
    expect(await gate.of(`honest ${number % 3}`).pass(honest, scope)).toEqual(passed);
    if (!isOver && lost.length === before) counts[before] = (counts[before] ?? 0) + 1;
    // Leaves the processor to the other suites.
    await pause(10);
  }
  return counts;
}

test('the first statements of a process take little memory', async () => {
  const script = fileURLToPath(new URL('./support/peak-memory.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeOptions, script]);
  process.stderr.write(`the peak of memory was ${stdout} MB\n`);
  expect(Number(stdout)).toBeLessThan(250);
});

test.each([
  ['loop', 'timeout'],
  ['allocate numbers', 'memory'],
  ['trap', 'crash'],
  ['exit', 'crash'],
])('a statement that makes its thread %s fails alone, and another thread takes its place', async (fault, reason) => {
  const { gate, lost, ready } = gateOf({ threads: 1, limitMs: fault === 'loop' ? 1_500 : 30_000, waitMs: 60_000, entry: hostile });
  const outcomes = await Promise.allSettled([
    gate.of('attacker').pass(fault, scope),
    gate.of('attacker').pass(honest, scope),
    ...Array.from({ length: 20 }, () => gate.of('honest').pass(honest, scope)),
  ]);
  expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: tooMuch });
  for (const outcome of outcomes.slice(1)) expect(outcome).toEqual({ status: 'fulfilled', value: passed });
  expect(lost).toEqual([reason]);
  expect(ready()).toBe(1);
});

test('the log names the tenant whose statement lost its thread', async () => {
  const lines: object[] = [];
  const process = {
    logger: { warn: (fields: object) => void lines.push(fields) },
    metrics: createMetrics('test'),
    health: { addCheck: () => undefined },
    onStop: () => undefined,
  } as unknown as ProcessContext;
  const gate = openStatementGate(process, { threads: 1, entry: hostile });
  open.push(gate);
  const tenant = tenantName({ organizationId: 'org_a', environment: 'live' });
  await expect(gate.of(tenant).pass('exit', scope)).rejects.toMatchObject(tooMuch);
  const line = { event: 'statement_gate_thread_lost', reason: 'crash', organization_id: 'org_a', environment: 'live' };
  expect(lines).toEqual([expect.objectContaining(line)]);
});

test('a tenant whose statements exceed their time holds at most one thread, and is refused for some seconds after three', async () => {
  let now = 0;
  const { gate, lost, ready } = gateOf({ limitMs: 1_500, waitMs: 60_000, entry: hostile, now: () => now });
  gate.prepare();
  expect(await until(() => ready() === 2, 30_000, 10)).toBe(true);
  const attacker = gate.of('attacker');
  const attacks = Promise.allSettled(Array.from({ length: 3 }, () => attacker.pass('sleep', scope)));
  // All three want a thread from the beginning.
  expect((await countUndisturbed(gate, lost, attacks))[0]).toBeGreaterThan(0);
  expect(lost).toEqual(Array(3).fill('timeout'));
  await expect(attacker.pass(honest, scope)).rejects.toMatchObject({ kind: 'refused', message: expect.stringContaining('a few seconds') });
  now += 11_000;
  expect(await attacker.pass(honest, scope)).toEqual(passed);
});

test('costly tenants share one thread, and the statements of other tenants continue', async () => {
  const { gate, lost } = gateOf({ limitMs: 1_000, waitMs: 120_000, entry: hostile });
  const attackers = Array.from({ length: 4 }, (_, number) => gate.of(`attacker ${number}`));
  await Promise.allSettled(attackers.map((attacker) => attacker.pass('sleep', scope)));
  const attacks = Promise.allSettled(attackers.map((attacker) => attacker.pass('sleep', scope)));
  const undisturbed = await countUndisturbed(gate, lost, attacks);
  expect(undisturbed.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(8);
  expect(lost).toEqual(Array(8).fill('timeout'));
});

test('eight tenants with slow statements leave a thread free for a tenant with fast ones', async () => {
  const { gate } = gateOf({ limitMs: 30_000, waitMs: 120_000, entry: hostile, now: () => 0 });
  const honestTenant = gate.of('honest');
  const finished: string[] = [];
  const slow = Array.from({ length: 8 }, (_, number) => gate.of(`slow ${number}`));
  const attack = () => Promise.all(slow.map((tenant) => tenant.pass('slow 150', scope).then(() => finished.push('slow'))));
  await attack();
  const attacks = [attack(), attack()];
  for (let number = 0; number < 10; number += 1) expect(await honestTenant.pass(honest, scope)).toEqual(passed);
  finished.push('honest');
  await Promise.all(attacks);
  // The slow statements share one thread: only those that ran at the same time came before.
  expect(finished.slice(8).indexOf('honest')).toBeLessThan(8);
});

test('statements of one tenant that follow each other in a thread all pass, and return to the queue when the thread is lost', async () => {
  const { gate, lost } = gateOf({ threads: 1, limitMs: 30_000, waitMs: 60_000, entry: hostile });
  const tenant = gate.of('tenant');
  const before = Array.from({ length: 20 }, () => tenant.pass(honest, scope));
  const fault = tenant.pass('trap', scope);
  const after = Array.from({ length: 20 }, () => tenant.pass(honest, scope));
  await expect(fault).rejects.toMatchObject(tooMuch);
  expect(await Promise.all([...before, ...after])).toEqual(Array.from({ length: 40 }, () => passed));
  expect(lost).toEqual(['crash']);
});

const fillRounds = Number(process.env['FILL_ROUNDS'] ?? 1);

test(
  'threads that reach their memory limit end alone, and never their process',
  async () => {
    const script = fileURLToPath(new URL('./support/fill-threads.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script, String(fillRounds)]);
    expect(JSON.parse(stdout)).toMatchObject({ rejected: 4 * fillRounds, honest: 4 * fillRounds });
  },
  60_000 + fillRounds * 20_000,
);

test('the gate is unready while no thread can be started, and recovers by itself', async () => {
  const file = join(await testFolder(), 'thread-entry.mjs');
  await writeFile(file, 'throw new Error("there is no memory left")');
  const { gate, lost, ready } = gateOf({ threads: 2, waitMs: 60_000, entry: pathToFileURL(file) });
  gate.prepare();
  expect(await until(() => lost.length >= 4, 30_000, 10)).toBe(true);
  await expect(gate.check()).rejects.toThrow('no thread');
  const waiting = gate.of('honest').pass(honest, scope);
  await writeFile(file, `import ${JSON.stringify(new URL('../src/threads/thread-entry.ts', import.meta.url).href)};`);
  expect(await waiting).toEqual(passed);
  await gate.check();
  expect([new Set(lost), ready() > 0]).toEqual([new Set(['start']), true]);
  await rm(file);
});

test('a waiting statement ends when its caller cancels, and all waiting statements end with the gate', async () => {
  const { gate } = gateOf({ threads: 1, limitMs: 2_000, entry: hostile });
  const leaving = new AbortController();
  const first = gate.of('attacker').pass('sleep', scope);
  const left = gate.of('one').pass(honest, scope, leaving.signal);
  const stays = gate.of('other').pass(honest, scope);
  leaving.abort(new Error('the caller has left'));
  await expect(left).rejects.toMatchObject({ kind: 'cancelled' });
  await Promise.all([gate.close(), expect(first).rejects.toBeDefined(), expect(stays).rejects.toMatchObject({ kind: 'unavailable' })]);
});

test('a scope is sent to a thread once, and each statement uses its own scope', async () => {
  const { gate } = gateOf({ threads: 1 });
  const tenant = gate.of('tenant');
  const other = resolveScope(
    { defaultSchema: 'public', tables: scope.tables.map((table) => ({ ...table, name: 'u' })), effects: [] },
    { tables: ['u(a)'], readOnly: true },
  ).scope;
  for (let round = 0; round < 3; round += 1) {
    expect((await tenant.pass('select * from t', scope)).tables).toEqual(scope.tables);
    expect((await tenant.pass('select * from u', other)).tables).toEqual(other.tables);
    await expect(tenant.pass('select * from t', other)).rejects.toMatchObject({ kind: 'refused' });
  }
});
