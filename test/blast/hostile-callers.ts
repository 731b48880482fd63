import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, createServer, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Misbehaviour, repeatFor } from './misbehaviour.ts';
import { answerAtOnce, type BlastWorld } from './world.ts';

const tables = (count: number, columnsEach: number) =>
  Array.from({ length: count }, (_, table) => {
    const columns = Array.from({ length: columnsEach }, (_, column) => `unknown_column_with_a_long_name_${table}_${column}`);
    return `table_${table}(${columns.join(', ')})`;
  });

const asHostile = ({ hostile }: BlastWorld) => ({ authorization: `Bearer ${hostile.key}` });

const agentBody = (scope: readonly string[]) => JSON.stringify({ name: 'Wide', system_prompt: 'Answer.', data_scope: { tables: scope } });

const wrongScopes: Misbehaviour = {
  name: 'a caller names thousands of columns that 195 tables do not have',
  async run(world, durationMs) {
    await world.connectHostileDataSource(world.dataSourceUrl);
    const body = agentBody(tables(195, 40));
    await repeatFor(durationMs, 2, () => world.sendHostile('POST', '/v1/agents', body, asHostile(world)));
    await world.operators.agents.removeDataSource({ organizationId: world.hostile.organizationId, environment: 'live' });
  },
};

const manyKeys: Misbehaviour = {
  name: 'a caller sends bodies of 70,000 keys, with and without credentials',
  async run(world, durationMs) {
    const body = JSON.stringify(Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`k${index}`, index])));
    const paths = ['/v1/auth/token', '/v1/agents', `/v1/agents/${world.hostile.agentId}/messages`];
    await repeatFor(durationMs, 2, (index) => world.sendHostile('POST', paths[index % paths.length] ?? '', body, asHostile(world)));
  },
};

const wrongCredentials: Misbehaviour = {
  name: 'an address tries wrong keys, secrets and tokens of unknown signing keys',
  async run(world, durationMs) {
    const wrongToken = () => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${part({ alg: 'RS256', kid: randomBytes(8).toString('hex') })}.${part({ sub: 'usr_x' })}.${randomBytes(256).toString('base64url')}`;
    };
    const attempts = [
      () => world.sendHostile('GET', '/v1/agents', undefined, { authorization: `Bearer ${wrongToken()}` }),
      () => world.sendHostile('POST', '/v1/auth/token', JSON.stringify({ api_key: `sa_live_${randomBytes(16).toString('hex')}` })),
      () =>
        world.sendHostile(
          'POST',
          '/v1/auth/oauth/token',
          JSON.stringify({ grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' }),
        ),
    ];
    await repeatFor(durationMs, 8, async (index) => await attempts[index % attempts.length]?.());
  },
};

const backlog: Misbehaviour = {
  name: 'a tenant sends messages as fast as it can to a slow model',
  async run(world, durationMs) {
    world.replyToHostile(() => ({ kind: 'text', text: 'Done.', delayMs: 300 }));
    await repeatFor(durationMs, 30, (index) => world.sendHostileMessage(`Backlog ${index}`));
    world.replyToHostile(answerAtOnce);
  },
};

const silentModel: Misbehaviour = {
  name: 'the model never answers one tenant, which does not read its streams',
  async run(world, durationMs) {
    world.replyToHostile(() => ({ kind: 'silence' }));
    const streams = Array.from({ length: 100 }, () => openUnreadStream(world));
    await repeatFor(durationMs, 10, (index) => world.sendHostileMessage(`Silence ${index}`).then(() => pause(50)));
    for (const stream of streams) stream.destroy();
    world.replyToHostile(answerAtOnce);
  },
};

function openUnreadStream(world: BlastWorld): ClientRequest {
  const { hostname, port } = new URL(world.system.url);
  const headers = {
    ...asHostile(world),
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'x-forwarded-for': '203.0.113.7',
  };
  const stream = request({ hostname, port, method: 'POST', path: `/v1/agents/${world.hostile.agentId}/messages`, headers }, (response) =>
    response.pause(),
  );
  stream.on('error', () => undefined);
  stream.end(JSON.stringify({ message: 'Stream that is not read' }));
  return stream;
}

const deepStatements: Misbehaviour = {
  name: "a tenant's model sends deeply nested statements",
  async run(world, durationMs) {
    await world.connectHostileDataSource(world.dataSourceUrl);
    const deep = [
      `select ${'1+'.repeat(7_500)}1`,
      `select ${'('.repeat(7_000)}1${')'.repeat(7_000)}`,
      `select ${'not '.repeat(3_900)}true`,
    ];
    let calls = 0;
    world.replyToHostile(({ messages }) => {
      const steps = messages.filter(({ role }) => role === 'assistant').length;
      if (steps > 6) return answerAtOnce();
      return { kind: 'tools', calls: [{ name: 'query', arguments: { sql: deep[calls++ % deep.length] ?? '' } }] };
    });
    await repeatFor(durationMs, 10, (index) => world.sendHostileMessage(`Deep ${index}`).then(() => pause(100)));
    world.replyToHostile(answerAtOnce);
    await world.operators.agents.removeDataSource({ organizationId: world.hostile.organizationId, environment: 'live' });
  },
};

const silentDataSource: Misbehaviour = {
  name: "a tenant's database accepts connections and never answers",
  async run(world, durationMs) {
    const sockets = new Set<{ destroy(): void }>();
    await world.connectHostileDataSource(world.dataSourceUrl);
    const target = new URL(world.dataSourceUrl);
    let silent = false;
    const proxy = createTcpServer((client) => {
      sockets.add(client);
      client.on('error', () => undefined);
      if (silent) return;
      const upstream = connect(Number(target.port), target.hostname);
      sockets.add(upstream);
      client.pipe(upstream).pipe(client);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const through = new URL(target);
    through.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await world.connectHostileDataSource(through.href);
    silent = true;
    for (const socket of sockets) socket.destroy();
    world.replyToHostile(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? answerAtOnce()
        : { kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select sum(pieces) from stock' } }] },
    );
    await repeatFor(durationMs, 10, (index) => world.sendHostileMessage(`Silent data ${index}`).then(() => pause(100)));
    world.replyToHostile(answerAtOnce);
    await world.operators.agents.removeDataSource({ organizationId: world.hostile.organizationId, environment: 'live' });
    for (const socket of sockets) socket.destroy();
    proxy.close();
  },
};

const wideAudits: Misbehaviour = {
  name: 'a tenant makes agents whose audit entries are as large as a body may be',
  async run(world, durationMs) {
    const body = agentBody(tables(200, 40));
    await repeatFor(durationMs, 4, () => world.sendHostile('POST', '/v1/agents', body, asHostile(world)));
  },
};

const silentWebhook: Misbehaviour = {
  name: "a tenant's webhook accepts connections and never answers",
  async run(world, durationMs) {
    const receiver = createServer(() => undefined);
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const url = `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const body = JSON.stringify({ url, events: ['conversation.completed', 'agent.created'] });
    await world.sendHostile('POST', '/v1/webhooks', body, asHostile(world));
    await repeatFor(durationMs, 10, (index) => world.sendHostileMessage(`Event ${index}`).then(() => pause(20)));
    receiver.closeAllConnections();
    receiver.close();
  },
};

export const hostileCallers: readonly Misbehaviour[] = [
  wrongScopes,
  manyKeys,
  wrongCredentials,
  backlog,
  silentModel,
  deepStatements,
  silentDataSource,
  wideAudits,
  silentWebhook,
];
