// An upgrade from the last release and back, one process after the other, with both versions beside each other. A long form: npm run test:long -- upgrade
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type DocumentedAnswers, servedAnswers, steadyLoad, summarize, testFolder, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectNothingLost, explainFailures } from '../faults/expectations.ts';
import type { Sent } from '../faults/load.ts';
import { type FaultyWorld, startFaultyWorld } from '../faults/world.ts';
import { type MixedBuild, mixBuilds, olderBuild } from './release.ts';

const long = process.env['UPGRADE'] === 'long' ? describe : describe.skip;
const limitMs = 900_000;
const messagesPerSecond = Number(process.env['UPGRADE_MESSAGES_PER_SECOND'] || 20);
const changesPerSecond = 2;
/** How long both versions of every service work beside each other before the second replicas follow. */
const besideMs = 10_000;

/** Kubernetes replaces them all at once, so that any order has to work. */
const services = ['identity', 'credits', 'templates', 'webhooks', 'agents', 'answer-worker', 'webhook-dispatcher', 'gateway'];
const replicas = services.map((name) => `${name}=2`).join(' ');

long('an upgrade from the last release', () => {
  let mixed: MixedBuild;
  let world: FaultyWorld;
  /** The gateways that receive requests, as a Service of Kubernetes lists them: those that stop are taken out first. */
  let open: string[];
  /** The document of each gateway, by its URL, of the version that it runs. */
  const documents = new Map<string, DocumentedAnswers>();

  beforeAll(async () => {
    mixed = mixBuilds(await testFolder(), olderBuild(process.env['UPGRADE_FROM']));
    const settings = { REPLICAS: replicas, WEBHOOKS_ENABLED: 'true', DRAIN_DELAY_MS: '1000' };
    world = await startFaultyWorld({ modelMs: 100, settings, build: mixed.folder });
    for (const url of world.gateways) documents.set(url, await servedAnswers(url));
    open = [...world.gateways];
  }, limitMs);
  afterAll(() => world?.stop(), limitMs);

  const call = async (method: string, path: string, body: object | undefined, index: number, headers: Record<string, string> = {}) => {
    const gateway = open[index % open.length] as string;
    const all = { authorization: `Bearer ${world.key}`, ...(body && { 'content-type': 'application/json' }), ...headers };
    const answer = await (documents.get(gateway) as DocumentedAnswers).send(gateway, {
      method,
      path,
      headers: all,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path} to ${gateway}: ${answer.status} ${answer.text}`);
    return answer;
  };

  const sent: Sent[] = [];
  const sendMessage = async (index: number) => {
    const one: Sent = { marker: `q-1-${index}`, beganAt: performance.now(), messageId: '', endedAt: 0, outcome: '' };
    sent.push(one);
    const path = `/v1/agents/${world.agentId}/messages`;
    const answer = await call('POST', path, { message: `Question ${one.marker}` }, index, { 'idempotency-key': randomUUID() });
    const { data } = answer.json<{ data: { id: string; content: string } }>();
    [one.messageId, one.endedAt, one.outcome] = [data.id, performance.now(), data.content.includes(one.marker) ? '200' : data.content];
  };

  /** Each makes an agent, changes, reads and deletes it, and reads what other services keep. */
  const changeThings = async (index: number) => {
    const body = { name: `Upgrade ${index}`, system_prompt: 'Answer.', data_scope: { tables: [] } };
    const { id } = (await call('POST', '/v1/agents', body, index)).json<{ data: { id: string } }>().data;
    await call('PATCH', `/v1/agents/${id}`, { status: 'active', description: 'changed' }, index + 1);
    await call('GET', `/v1/agents/${id}`, undefined, index);
    for (const path of [
      '/v1/agents?limit=2',
      '/v1/templates?limit=2',
      '/v1/users',
      '/v1/webhooks',
      '/v1/credits/usage?limit=2',
      '/v1/audit?limit=2',
    ])
      await call('GET', path, undefined, index);
    await call('DELETE', `/v1/agents/${id}`, undefined, index);
  };

  /** Replaces one process as Kubernetes does: it gets SIGTERM, and its successor has to be ready. */
  const replace = async (name: string) => {
    const { system } = world;
    const process = system.processes.get(name);
    const gateway = /^gateway/.test(name) ? system.endpoints[name] : undefined;
    open = open.filter((url) => url !== gateway);
    const before = process?.pid;
    process?.kill('SIGTERM');
    await until(`${name} runs again`, async () => process?.pid !== undefined && process.pid !== before, 90_000);
    await until(`${name} is ready`, async () => (await fetch(`${system.endpoints[`${name}.ops`]}/readyz`)).ok, 90_000);
    if (gateway === undefined) return;
    documents.set(gateway, await servedAnswers(gateway));
    open = [...open, gateway];
  };

  const replaceAll = async (which: 'older' | 'newer', suffix: string) => {
    for (const name of services) {
      mixed.use(which, name);
      await replace(`${name}${suffix}`);
    }
  };

  test(
    'and back fails no request, loses no message and charges each once',
    async () => {
      const messages = steadyLoad(messagesPerSecond, sendMessage);
      const changes = steadyLoad(changesPerSecond, changeThings);
      await pause(3_000);
      for (const which of ['newer', 'older'] as const) {
        await replaceAll(which, '-2');
        await pause(besideMs);
        await replaceAll(which, '');
        await pause(besideMs);
      }
      const [asked, changed] = [summarize(await messages.stop()), summarize(await changes.stop())];
      process.stdout.write(
        `upgrade and back: ${asked.sent} messages, ${asked.failures.length} failed, p50 ${Math.round(asked.p50)} ms, p99 ${Math.round(asked.p99)} ms; ${changed.sent} rounds of changes, ${changed.failures.length} failed\n`,
      );
      // The releases up to bf585fa6 give up calls that find no connection.
      expect(explainFailures(world, [...asked.failures, ...changed.failures])).toEqual([]);
      await expectNothingLost(world, { sent, stop: async () => undefined });
    },
    limitMs,
  );
});
