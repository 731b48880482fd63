import { spawnSync } from 'node:child_process';
import { testCertificate } from '@agent-service/testkit/http/certificate';
import { receiver } from '@agent-service/testkit/http/receiver';
import { until } from '@agent-service/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AgentServiceContainer, type StartedAgentService, startComposition, TestContainers } from '../src/index.ts';

const names = {
  service: process.env['TEST_AGENT_SERVICE_IMAGE'] ?? 'agent-service-embedded:0.1.0',
  postgres: process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:17-alpine',
  redis: process.env['TEST_REDIS_IMAGE'] ?? 'redis:7-alpine',
};
/** Testcontainers forwards the ports of this machine with it. */
const forwarder = process.env['SSHD_CONTAINER_IMAGE'] ?? 'testcontainers/sshd:1.4.0';

const dockerSucceeds = (...words: string[]): boolean => spawnSync('docker', words, { stdio: 'ignore', timeout: 10_000 }).status === 0;
const isThere = (image: string) => dockerSucceeds('image', 'inspect', image);

/** Why the examples cannot run here; undefined where they can. */
function reasonToSkip(): string | undefined {
  if (!dockerSucceeds('info')) return 'no Docker engine answers';
  const missing = Object.values(names).filter((name) => !isThere(name));
  return missing.length === 0 ? undefined : `the Docker engine lacks ${missing.join(', ')}`;
}

async function call<Data = Record<string, unknown>>(
  service: StartedAgentService,
  path: string,
  body?: object,
  method = body ? 'POST' : 'GET',
): Promise<Data> {
  const response = await fetch(`${service.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${service.apiKeys.live}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}

async function makeAgent(service: StartedAgentService): Promise<string> {
  const agent = await call(service, '/v1/agents', { name: 'Test', system_prompt: 'Answer shortly.', data_scope: { tables: ['orders'] } });
  await call(service, `/v1/agents/${agent['id']}`, { status: 'active' }, 'PATCH');
  return String(agent['id']);
}

const reason = reasonToSkip();

if (reason === undefined) process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
else process.stdout.write(`packages/testcontainers: these examples are skipped, because ${reason}\n`);

// Jest names and counts each of them as skipped.
(reason === undefined ? describe : describe.skip)('with a Docker engine', () => {
  describe('a container with the whole system', () => {
    let service: StartedAgentService;

    beforeAll(async () => {
      service = await new AgentServiceContainer(names.service)
        .withScriptedModel([
          { when: 'opening hours', reply: 'From nine to five.' },
          { when: 'fail', reply: { kind: 'failure', status: 400, message: 'scripted' } },
        ])
        .start();
    });

    afterAll(() => service?.stop());

    test('answers a message with the reply of the script, and charges it', async () => {
      const agent = await makeAgent(service);
      const answer = await call(service, `/v1/agents/${agent}/messages`, { message: 'What are your opening hours?' });
      expect(answer).toMatchObject({ content: 'From nine to five.', role: 'assistant' });
      expect(answer['credits_consumed']).toBeGreaterThan(0);
      const calls = await service.model.calls();
      expect(JSON.stringify(calls.at(-1)?.messages)).toContain('What are your opening hours?');
    });

    test('a test decides while it runs what the model replies', async () => {
      const agent = await makeAgent(service);
      await service.model.follow([
        { times: 1, reply: { kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select count(*) as n from orders' } }] } },
        { reply: 'There are some.' },
      ]);
      const answer = await call(service, `/v1/agents/${agent}/messages`, { message: 'How many orders are there?' });
      expect(answer['content']).toBe('There are some.');
    });
  });

  (reason === undefined && isThere(forwarder) ? test : test.skip)('webhooks reach a receiver of the test', async () => {
    const certificate = testCertificate({ names: ['host.testcontainers.internal'] });
    const hooks = await receiver(undefined, certificate);
    const { port } = new URL(hooks.url);
    await TestContainers.exposeHostPorts(Number(port));
    const service = await new AgentServiceContainer(names.service)
      .withWebhooks('10.0.0.0/8,172.16.0.0/12,192.168.0.0/16', { authority: certificate.cert })
      .start();
    try {
      const url = `https://host.testcontainers.internal:${port}/`;
      const webhook = await call(service, '/v1/webhooks', { url, events: ['agent.created'] });
      await call(service, `/v1/webhooks/${webhook['id']}/test`, undefined, 'POST');
      await until(() => hooks.requests.length > 0);
      expect(JSON.parse(hooks.requests[0]?.body ?? '')).toMatchObject({ type: 'webhook.test' });
    } finally {
      await service.stop();
      await hooks.stop();
    }
  });

  test('the same with PostgreSQL and Redis in containers of their own', async () => {
    const service = await startComposition({
      postgresImage: names.postgres,
      redisImage: names.redis,
      service: new AgentServiceContainer(names.service).withScriptedModel([{ reply: 'Hello.' }]),
    });
    try {
      const agent = await makeAgent(service);
      expect(await call(service, `/v1/agents/${agent}/messages`, { message: 'Hi' })).toMatchObject({ content: 'Hello.' });
      const { output } = await service.postgres.exec([
        'psql',
        '-U',
        service.postgres.getUsername(),
        '-d',
        'agent_service',
        '-Atc',
        'select count(*) from credits.usage_records',
      ]);
      expect(Number(output.trim())).toBeGreaterThan(0);
    } finally {
      await service.stop();
    }
  });
});
