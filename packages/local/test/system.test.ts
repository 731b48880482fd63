import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { testFolder, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isFree } from '../src/host/ports.ts';
import { catalogue } from '../src/system/catalogue.ts';
import type { LocalSystem } from '../src/system/system.ts';
import { fakeCatalogue } from './fake-catalogue.ts';
import { environmentOf, hasEnded, ownEnvironment, pidsIn, readData, startFakes } from './support.ts';

/** An operator's environment, with what is meant for one process and what is meant for none. */
async function operatorsOwn(): Promise<Record<string, string>> {
  const models = join(await testFolder(), 'models.json');
  writeFileSync(models, JSON.stringify({ tiers: { Fast: { provider: 'anthropic', model: 'm', api_key_env: 'MODEL_API_KEY' } } }));
  const secrets = Object.fromEntries(
    ['SECRET_OF_OPERATOR', 'NODE_AUTH_TOKEN', 'npm_config_token'].map((name) => [name, 'of the operator']),
  );
  const settings = { MODELS_FILE: models, ANSWER_WAIT_SECONDS: '7', LOG_LEVEL: 'warn', HTTPS_PROXY: 'http://proxy.example:3128' };
  return { ...secrets, ...settings, MODEL_API_KEY: 'the-operators' };
}

const withPortal = [...fakeCatalogue, ...catalogue.filter(({ name }) => name === 'portal')];

describe('a running system', () => {
  let system: LocalSystem;
  const lines: string[] = [];

  beforeAll(async () => {
    const env = await ownEnvironment({ REPLICAS: 'identity=2 gateway=2', KEY_HASH_SECRET: 'k'.repeat(40), ...(await operatorsOwn()) });
    system = await startFakes(env, { report: (line) => lines.push(line) });
  });

  afterAll(async () => {
    await system.stop();
  });

  test('runs every replica, and says where each is in files that only their owner reads', async () => {
    const names = ['gateway', 'gateway-2', 'identity', 'identity-2', 'postgres', 'redis'];
    expect(Object.keys(pidsIn(system.dataDir)).sort()).toEqual(['answer-worker', ...names]);
    expect(Object.keys(readData(system.dataDir, 'endpoints.json'))).toEqual(expect.arrayContaining(names));
    for (const file of ['endpoints.json', 'secrets.json', 'supervisor.json'])
      expect(statSync(join(system.dataDir, file)).mode & 0o777).toBe(0o600);
  });

  test('no process of the system has a variable of the operator that it does not know', () => {
    for (const [name, pid] of Object.entries(pidsIn(system.dataDir))) {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      const names = variables.map((entry) => entry.split('=')[0] ?? '');
      expect([
        name,
        names.filter((each) => ['SECRET_OF_OPERATOR', 'NODE_AUTH_TOKEN', 'npm_config_token', 'SERVICE_SECRET'].includes(each)),
      ]).toEqual([name, []]);
      expect([name, names.includes('MODEL_API_KEY')]).toEqual([name, name === 'answer-worker']);
      expect([name, names.includes('HTTPS_PROXY')]).toEqual([name, name === 'answer-worker']);
      expect([name, variables.filter((entry) => entry.includes('of the operator'))]).toEqual([name, []]);
      if (name === 'postgres' || name === 'redis') expect([name, names.includes('HOME')]).toEqual([name, false]);
    }
  });

  test('gives a process the settings that it needs and those that the operator set, and no others', async () => {
    const [gateway, identity] = await Promise.all([environmentOf(system, 'gateway'), environmentOf(system, 'identity')]);
    const targets = ['identity', 'identity-2'].map((name) => system.endpoints[name]?.replace('ipv4:', ''));
    expect(gateway).toMatchObject({
      IDENTITY_ADDRESS: `ipv4:${targets.join(',')}`,
      REDIS_URL: system.endpoints['redis'],
      ANSWER_WAIT_SECONDS: '7',
      LOG_LEVEL: 'warn',
    });
    for (const name of [
      'MODEL_API_KEY',
      'SERVICE_SECRET',
      'DATABASE_URL',
      'KEY_HASH_SECRET',
      'ENCRYPTION_KEYS',
      'CURSOR_SECRET',
      'POSTGRES_PASSWORD',
    ])
      expect(gateway).not.toHaveProperty(name);
    expect(identity).toMatchObject({ KEY_HASH_SECRET: 'k'.repeat(40), SERVICE_KEYS: expect.stringMatching(/^identity:/) });
    expect(gateway['SERVICE_KEYS']).toMatch(/^identity:[\w-]{43}$/);
    // The gateway's key for identity is not the one that identity derives its callers' keys from.
    expect(identity['SERVICE_KEYS']).not.toContain(gateway['SERVICE_KEYS']);
    expect(identity).not.toHaveProperty('REDIS_URL');
    expect(identity['ENCRYPTION_KEYS']).toMatch(/^1:[A-Za-z0-9+/]{43}=$/);
    expect(readData(system.dataDir, 'secrets.json')['KEY_HASH_SECRET']).not.toBe('k'.repeat(40));
  });

  test('a worker gets the addresses of its services and the keys of its models, and serves nothing but its probes', async () => {
    const worker = await environmentOf(system, 'answer-worker');
    expect(worker).toMatchObject({
      IDENTITY_ADDRESS: expect.any(String),
      REDIS_URL: system.endpoints['redis'],
      MODEL_API_KEY: 'the-operators',
    });
    for (const name of ['PORT', 'GRPC_PORT', 'DATABASE_URL', 'KEY_HASH_SECRET', 'CURSOR_SECRET']) expect(worker).not.toHaveProperty(name);
    expect(system.endpoints).not.toHaveProperty('answer-worker');
  });

  test.each(['identity-2', 'gateway', 'redis', 'postgres'])('starts %s again after kill -9, at the same address', async (name) => {
    const before = pidsIn(system.dataDir)[name] as number;
    process.kill(before, 'SIGKILL');
    await until(`${name} has another pid`, () => ![undefined, before].includes(pidsIn(system.dataDir)[name]));
    const port = Number(/:(\d+)(\/|$)/.exec(system.endpoints[name] ?? '')?.[1]);
    await until(`${name} listens again`, async () => !(await isFree(port)));
    expect(lines.join('\n')).toContain(`${name} was ended by SIGKILL`);
  });

  test('DATA_DIR has one system at a time', async () => {
    const env = await ownEnvironment({ DATA_DIR: system.dataDir });
    await expect(startFakes(env)).rejects.toThrow(/A system already runs on .* \(pid \d+\)/);
  });

  test('a port in use is named together with what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const own = await ownEnvironment({ PORT: String(port), PORTAL_PORT: String(port + 1) });
    const failure = await startFakes(own, { catalogue: withPortal }).catch((cause: Error) => cause.message);
    expect(failure).toContain(`PORT: port ${port} is in use by another program`);
    const suggested = Number(/PORT=(\d+) npm start/.exec(String(failure))?.[1]);
    expect([suggested > port + 1, await isFree(suggested)]).toEqual([true, true]);
    const elsewhere = await startFakes(await ownEnvironment({ PORT: String(port), LISTEN_HOST: '127.0.0.2' }));
    await elsewhere.stop();
    server.close();
  });

  test('an address of another machine is named before anything starts', async () => {
    await expect(startFakes(await ownEnvironment({ LISTEN_HOST: '192.0.2.1' }))).rejects.toThrow(
      'LISTEN_HOST: no server can listen on 192.0.2.1 (EADDRNOTAVAIL)',
    );
  });
});

test('one port for the API and the portal is refused before anything starts', async () => {
  const env = await ownEnvironment();
  const starting = startFakes({ ...env, PORTAL_PORT: env['PORT'] ?? '' }, { catalogue: withPortal });
  await expect(starting).rejects.toThrow(`PORT and PORTAL_PORT name the same port, ${env['PORT']}. Choose two.`);
});

test('starts with a public API on one address of this machine only', async () => {
  const env = await ownEnvironment({ LISTEN_HOST: '127.0.0.2' });
  const system = await startFakes(env);
  const url = `http://127.0.0.2:${env['PORT']}`;
  expect([system.url, system.endpoints['gateway']]).toEqual([url, url]);
  expect(await environmentOf(system, 'gateway')).toMatchObject({ HOST: '127.0.0.2' });
  expect(await environmentOf(system, 'identity')).toMatchObject({ HOST: '127.0.0.1' });
  await system.stop();
});

test("PGSSLMODE of the operator, which is for servers elsewhere, does not concern the system's own PostgreSQL", async () => {
  process.env['PGSSLMODE'] = 'require';
  try {
    const system = await startFakes(await ownEnvironment());
    expect(new URL(system.endpoints['postgres'] ?? '').searchParams.get('sslmode')).toBe('disable');
    await system.stop();
  } finally {
    delete process.env['PGSSLMODE'];
  }
});

describe('stopping', () => {
  test('workers end before the services to which they return work', async () => {
    const system = await startFakes(await ownEnvironment());
    await system.stop();
    expect(readFileSync(join(system.dataDir, 'logs', 'answer-worker.log'), 'utf8')).toContain('returned to identity: 200');
  });

  test('leaves no process, no listener and no note of them, and the data for the next start', async () => {
    const env = await ownEnvironment();
    const system = await startFakes(env);
    const pids = Object.values(pidsIn(system.dataDir));
    const password = readData(system.dataDir, 'secrets.json')['POSTGRES_PASSWORD'];
    await Promise.all([system.stop(), system.stop()]);
    expect(pids.filter((pid) => !hasEnded(pid))).toEqual([]);
    for (const address of Object.values(system.endpoints)) expect(await isFree(Number(/:(\d+)(\/|$)/.exec(address)?.[1]))).toBe(true);
    for (const file of ['processes.json', 'endpoints.json', 'supervisor.json']) expect(existsSync(join(system.dataDir, file))).toBe(false);
    const again = await startFakes(env);
    expect(readData(again.dataDir, 'secrets.json')['POSTGRES_PASSWORD']).toBe(password);
    await again.stop();
  });

  test('a cluster whose password was lost is kept, and said to be', async () => {
    const env = await ownEnvironment();
    await (await startFakes(env)).stop();
    rmSync(join(env['DATA_DIR'] as string, 'secrets.json'));
    await expect(startFakes(env)).rejects.toThrow('The password kept in secrets.json does not open the database');
  });

  test('a service that cannot start ends the start, with its log shown and nothing left', async () => {
    const lines: string[] = [];
    const env = await ownEnvironment({ FAKE_FAILS: 'yes' });
    await expect(startFakes(env, { report: (line) => lines.push(line) })).rejects.toThrow(
      'identity does not start: it ended with code 3, 3 times',
    );
    expect(lines.join('\n')).toContain('the fake fails as it was told');
    expect(existsSync(join(env['DATA_DIR'] as string, 'supervisor.json'))).toBe(false);
  });
});
