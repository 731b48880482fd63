// Sends messages at a steady rate and proves that each was answered once: node deploy/drills/load.mjs --url URL --key KEY --rate 20 --seconds 30
// Each message has an Idempotency-Key. With --retry a failed request is repeated under the same key, as a careful caller does; without it, it counts as
// failed. Ends early on SIGTERM, and prints one line of JSON. Needs Node 20 and nothing else.

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '30' },
    retry: { type: 'boolean', default: false },
    /** One connection for each request: a Service of Kubernetes balances connections. */
    close: { type: 'boolean', default: false },
  },
});

const retryPauseMs = 200;
const retryLimitMs = 120_000;
const requestLimitMs = 70_000;
const failures = new Map();
const latencies = [];
const successes = [];
const ids = new Set();
let sent = 0;
let failed = 0;
let retried = 0;
let isStopped = false;
process.once('SIGTERM', () => {
  isStopped = true;
});

await raiseLimit();
const agent = await makeAgent();
const usedBefore = await usageCount();
await sendAll();
const usage = (await usageCount()) - usedBefore;
const answered = ids.size;
const isProven = failed === 0 && answered === sent && usage === sent;
const report = { sent, answered, charged: usage, failed, retried, ...timings(), failures: Object.fromEntries(failures) };
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exitCode = isProven ? 0 : 1;

async function sendAll() {
  const beganAt = performance.now();
  const endsAt = beganAt + Number(options.seconds) * 1_000;
  const pending = [];
  while (performance.now() < endsAt && !isStopped) {
    const dueAt = beganAt + (sent * 1_000) / Number(options.rate);
    if (dueAt > performance.now()) await pause(dueAt - performance.now());
    pending.push(sendMessage(sent++));
  }
  await Promise.all(pending);
}

async function sendMessage(number) {
  const key = randomUUID();
  const beganAt = performance.now();
  for (;;) {
    const failure = await tryMessage(number, key);
    if (failure === undefined) break;
    failures.set(failure, (failures.get(failure) ?? 0) + 1);
    if (!options.retry || performance.now() - beganAt > retryLimitMs) {
      failed += 1;
      return;
    }
    retried += 1;
    await pause(retryPauseMs);
  }
  latencies.push(performance.now() - beganAt);
  successes.push(performance.now());
}

/** Resolves to the reason of a failure; undefined after an answer. */
async function tryMessage(number, key) {
  try {
    const { data } = await call(
      'POST',
      `/v1/agents/${agent}/messages`,
      { message: `How many orders are there? (${number})` },
      { 'idempotency-key': key },
    );
    ids.add(data.id);
    return undefined;
  } catch (cause) {
    return cause.code ?? cause.cause?.code ?? cause.message;
  }
}

async function makeAgent() {
  const body = { name: `Drill ${new Date().toISOString()}`, system_prompt: 'Answer shortly.', data_scope: { tables: [] } };
  const { data } = await call('POST', '/v1/agents', body);
  await call('PATCH', `/v1/agents/${data.id}`, { status: 'active' });
  return data.id;
}

/** The demonstration's administrator may spend 500 credits a month; a drill needs more. */
async function raiseLimit() {
  const { data } = await call('GET', '/v1/users');
  const administrator = data.find(({ role }) => role === 'admin');
  await call('PUT', `/v1/credits/users/${administrator.id}/allocation`, { monthly_limit: 90_000 });
}

async function usageCount() {
  return (await call('GET', `/v1/credits/usage?agent_id=${agent}&limit=1`)).meta.total;
}

async function call(method, path, body, headers = {}) {
  const response = await fetch(`${options.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${options.key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(options.close && { connection: 'close' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(requestLimitMs),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  throw Object.assign(new Error(text), { code: `${response.status} ${/"code":"([a-z_]+)"/.exec(text)?.[1] ?? ''}`.trim() });
}

/** Milliseconds; the longest gap is between two successes in a row. */
function timings() {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  const inOrder = successes.toSorted((a, b) => a - b);
  const gaps = inOrder.slice(1).map((time, index) => time - inOrder[index]);
  return { p50_ms: at(0.5), p99_ms: at(0.99), longest_gap_ms: Math.round(Math.max(0, ...gaps)) };
}
