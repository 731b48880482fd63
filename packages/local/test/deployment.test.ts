import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { nodeOptions } from '@agent-service/runtime/config';
import {
  machineEnvironment,
  mainFileOf,
  type OwnPostgres,
  ownPostgres,
  type TestDatabase,
  testDatabase,
  testFolder,
  until,
} from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { parse } from 'yaml';
import { connectionSettings } from '../../cli/src/connection.ts';
import { repositoryRoot } from '../src/host/environment.ts';
import { catalogue } from '../src/system/catalogue.ts';
import { namesFor } from '../src/system/environment.ts';
import { settingName } from '../src/system/secrets.ts';

const run = promisify(execFile);
const program = (name: string) => mainFileOf(name, `packages/local/src/deployment/${name}.ts`);

interface ComposeService {
  command?: string[];
  environment: Record<string, string>;
  env_file?: string[];
  build?: { dockerfile: string };
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { disable?: boolean };
  restart?: string;
  volumes: string[];
  profiles?: string[];
  read_only?: boolean;
  cap_drop?: string[];
}

const composeKeys = new Set(
  'build cap_add cap_drop command depends_on deploy entrypoint env_file environment healthcheck image logging mem_limit networks ports profiles read_only restart security_opt shm_size stop_grace_period tmpfs user volumes'.split(
    ' ',
  ),
);
const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;
if (!hasCompose) process.stdout.write('packages/local: docker-compose.yml is not read by Docker Compose, which is not installed\n');

/** False where a service would be waited for without an end. */
function canMeet(service: ComposeService | undefined, condition: string): boolean {
  // The image has a check of its own.
  if (condition === 'service_healthy') return service !== undefined && service.healthcheck?.disable !== true;
  if (condition === 'service_completed_successfully') return service?.restart === 'no';
  return condition === 'service_started' && service !== undefined;
}

describe('docker-compose.yml', () => {
  const { services, volumes } = parse(readFileSync(join(repositoryRoot, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
    services: Record<string, ComposeService>;
    volumes: Record<string, null>;
  };

  test.each(catalogue.map((entry) => [entry.name, entry] as const))('runs %s with its settings and its own secrets only', (name, entry) => {
    const service = services[name];
    expect(service?.command).toEqual([name]);
    expect(service?.volumes).toContain(`${name}-settings:/config:ro`);
    expect(service?.volumes.filter((volume) => volume.includes('-settings:'))).toHaveLength(1);
    expect([service?.read_only, service?.cap_drop]).toEqual([true, ['ALL']]);
    expect(service?.profiles).toEqual(entry.enabledBy ? ['webhooks'] : undefined);
    const names = Object.keys(service?.environment ?? {});
    // Its database, kind of Redis and TLS are those of this file.
    const expected = [
      ...entry.settings.filter((each) => !each.startsWith('REDIS_')),
      ...entry.needs.map((each) => `${settingName(each)}_ADDRESS`),
      ...namesFor(entry, []).filter((each) => /^[A-Z]+_PROXY$/.test(each)),
    ];
    expect(expected.filter((each) => !names.includes(each))).toEqual([]);
  });

  test('names only services, volumes and files that exist, and keys that Compose has', () => {
    const present = (text: string) => text.replaceAll(/\$\{\w+:?-([^}]*)\}/g, '$1');
    const missing = Object.entries(services).flatMap(([name, service]) => {
      const { depends_on: waits = {}, env_file: files = [], build, volumes: mounts = [] } = service;
      const sources = mounts.map((mount) => present(mount).split(':')[0] ?? '');
      const dependencies = Object.entries(waits).filter(([other, { condition }]) => !canMeet(services[other], condition));
      const paths = [...sources.filter((source) => source.startsWith('.')), ...files.map(present), ...(build ? [build.dockerfile] : [])];
      return [
        ...dependencies.map(([other, { condition }]) => `${name} waits for ${other}, ${condition}`),
        ...sources.filter((source) => !/^[./]/.test(source) && !(source in volumes)),
        ...paths.filter((path) => !existsSync(join(repositoryRoot, path))),
        ...Object.keys(service).filter((key) => !composeKeys.has(key)),
      ];
    });
    expect(missing).toEqual([]);
    const mounted = Object.values(services).flatMap(({ volumes: mounts = [] }) => mounts.map((mount) => mount.split(':')[0]));
    expect(Object.keys(volumes).filter((name) => !mounted.includes(name))).toEqual([]);
  });

  test('gives the operator’s commands the settings that they share with services', () => {
    const namesOf = (name: string) => Object.keys(services[name]?.environment ?? {});
    const shared = Object.keys(services).flatMap(namesOf);
    const missing = Object.keys(connectionSettings.shape).filter((name) => shared.includes(name) && !namesOf('admin').includes(name));
    expect(missing).toEqual([]);
  });

  test('mounts the authorities of receivers where the dispatcher looks for them, if any are named', () => {
    const { environment, volumes: mounts } = services['webhook-dispatcher'] as ComposeService;
    const resolve = (text: string, file: string) =>
      text.replaceAll(/\$\{WEBHOOK_CA_FILE:-([^}]*)\}/g, (_, fallback: string) => file || fallback);
    const readPath = environment['WEBHOOK_CA_FILE'] ?? '';
    const withFile = mounts.map((mount) => resolve(mount, '/etc/receivers.pem'));
    expect([resolve(readPath, '/etc/receivers.pem'), resolve(readPath, '')]).toEqual(['/etc/receivers.pem', '']);
    expect(withFile).toContain('/etc/receivers.pem:/etc/receivers.pem:ro');
    expect(mounts.map((mount) => resolve(mount, ''))).toContain('./deploy/compose/no-authorities.pem:/no-authorities.pem:ro');
  });

  (hasCompose ? test : test.skip)('is accepted by Docker Compose', async () => {
    await run('docker', ['compose', '--profile', '*', 'config', '--quiet'], { cwd: repositoryRoot });
  });

  test('has no default within a default, which docker-compose 1.29 does not replace', () => {
    expect(readFileSync(join(repositoryRoot, 'docker-compose.yml'), 'utf8')).not.toMatch(/\$\{[^}]*\$\{/);
  });

  test('setup writes the settings of every process into a volume of its own', () => {
    for (const { name } of catalogue) expect(services['setup']?.volumes).toContain(`${name}-settings:/config/${name}`);
  });
});

test('the image runs its processes, and makes their compiled code, with the options of npm start', () => {
  const dockerfile = readFileSync(join(repositoryRoot, 'deploy', 'Dockerfile'), 'utf8');
  expect(dockerfile).toContain(`ENTRYPOINT ${JSON.stringify(['node', ...nodeOptions, '/app/entrypoint.mjs']).replaceAll(',', ', ')}`);
  expect(dockerfile).toContain(`RUN node ${nodeOptions.join(' ')} scripts/build/image.mjs /image`);
});

const shortSecret = 'SERVICE_SECRET: must be one or more secrets of at least 32 characters';

describe('setup and migrate', () => {
  let database: TestDatabase;
  let folder: string;
  const settingsOf = (name: string) => parseEnv(readFileSync(join(folder, 'config', name, 'settings.env'), 'utf8'));
  const setup = (settings: Readonly<Record<string, string>> = {}) =>
    run(process.execPath, [program('setup')], {
      env: { DATA_DIR: join(folder, 'data'), CONFIG_DIR: join(folder, 'config'), DATABASE_URL: database.url, ...settings },
    });

  beforeAll(async () => {
    [database, folder] = await Promise.all([testDatabase(), testFolder()]);
    mkdirSync(join(folder, 'data'));
    await setup();
  });

  afterAll(() => database.drop());

  test('each process gets its own secrets only, in a file for its user', () => {
    for (const { name, secrets, database: owns } of catalogue) {
      const expected = ['SERVICE_KEYS', ...secrets, ...(owns ? ['DATABASE_URL'] : [])];
      expect([name, Object.keys(settingsOf(name)).sort()]).toEqual([name, expected.sort()]);
      expect(statSync(join(folder, 'config', name, 'settings.env')).mode & 0o777).toBe(0o600);
    }
    expect(settingsOf('identity')['DATABASE_URL']).not.toBe(settingsOf('migrate')['IDENTITY_DATABASE_OWNER_URL']);
  });

  test('a secret that the operator’s commands would refuse is refused', async () => {
    await expect(setup({ SERVICE_SECRET: 'short' })).rejects.toMatchObject({ stderr: expect.stringContaining(shortSecret) });
  });

  test('schemas are migrated once, and a repeated setup keeps every secret', async () => {
    const env = { ...machineEnvironment, ...settingsOf('migrate') };
    const first = await run(process.execPath, [program('migrate')], { env });
    for (const schema of ['identity', 'credits', 'agents', 'webhooks'])
      expect(first.stdout).toMatch(new RegExp(`^${schema}: applied 0001`, 'm'));
    const before = catalogue.map(({ name }) => settingsOf(name));
    await setup();
    expect(catalogue.map(({ name }) => settingsOf(name))).toEqual(before);
    const second = await run(process.execPath, [program('migrate')], { env });
    expect(second.stdout.trim().split('\n').sort()).toEqual(
      ['agents', 'credits', 'identity', 'webhooks'].map((schema) => `${schema}: up to date`),
    );
  });

  test('migrate makes roles from an administrator’s URL and passwords, and says which setting is missing', async () => {
    const failure = await run(process.execPath, [program('migrate')], {
      env: { ...machineEnvironment, DATABASE_ADMIN_URL: database.url },
    }).catch((cause) => cause);
    expect(failure.stderr).toBe('migrate failed. Set DATABASE_PASSWORD_IDENTITY, or DATABASE_ADMIN_URL with a password for each role.\n');
    const passwords = ['IDENTITY', 'IDENTITY_RUNTIME', 'CREDITS', 'AGENTS', 'WEBHOOKS'].map((role) => [
      `DATABASE_PASSWORD_${role}`,
      'p'.repeat(32),
    ]);
    const { stdout } = await run(process.execPath, [program('migrate')], {
      env: { ...machineEnvironment, DATABASE_ADMIN_URL: database.url, ...Object.fromEntries(passwords) },
    });
    expect(stdout).toContain('identity: up to date');
  });
});

describe('on a database that another system uses', () => {
  let server: OwnPostgres;
  let folder: string;
  let session: Client;
  const setup = (name: string) => {
    const [dataDir, configDir] = [join(folder, name), join(folder, `${name}-config`)];
    mkdirSync(dataDir, { recursive: true });
    return run(process.execPath, [program('setup')], { env: { DATA_DIR: dataDir, CONFIG_DIR: configDir, DATABASE_URL: server.url } });
  };
  const migrate = (settings: Readonly<Record<string, string>>) => {
    const roles = ['IDENTITY', 'IDENTITY_RUNTIME', 'CREDITS', 'AGENTS', 'WEBHOOKS'];
    const passwords = Object.fromEntries(roles.map((role) => [`DATABASE_PASSWORD_${role}`, 'another-password']));
    return run(process.execPath, [program('migrate')], {
      env: { ...machineEnvironment, DATABASE_ADMIN_URL: server.url, ...passwords, ...settings },
    });
  };
  const isRefused = { stderr: expect.stringContaining('another system runs on this database, with other secrets') };

  beforeAll(async () => {
    const withPasswords = (cluster: string) => writeFileSync(join(cluster, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
    [server, folder] = await Promise.all([ownPostgres({ beforeStart: withPasswords }), testFolder()]);
    await setup('first');
    const { DATABASE_URL } = parseEnv(readFileSync(join(folder, 'first-config', 'identity', 'settings.env'), 'utf8'));
    session = new Client({ connectionString: DATABASE_URL });
    await session.connect();
  });

  afterAll(() => server.remove());

  test('the first setup and the migration of a new installation are refused, however often they run, and others are not', async () => {
    for (const _ of ['once', 'again']) await expect(setup('second')).rejects.toMatchObject(isRefused);
    await expect(migrate({ NEW_INSTALLATION: 'true' })).rejects.toMatchObject(isRefused);
    // A changed password, while processes have connections with the former one.
    const file = join(folder, 'first', 'secrets.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), DATABASE_PASSWORD_IDENTITY_RUNTIME: 'changed' }));
    await setup('first');
    expect((await migrate({})).stdout).toContain('identity: applied 0001');
  });

  test('they run when its sessions have ended', async () => {
    await session.end();
    await setup('second');
    expect((await migrate({ NEW_INSTALLATION: 'true' })).stdout).toContain('identity: up to date');
  });
});

describe('prepare, in the pod of a process', () => {
  let folder: string;
  let status: number;
  let url: string;
  const server = createServer((_request, response) => void response.writeHead(status).end());
  const prepare = (settings: Record<string, string>) => {
    const env = { ...machineEnvironment, SERVICE: 'gateway', SERVICE_SECRET: 's'.repeat(32), KEYS_FILE: join(folder, 'keys'), ...settings };
    return spawn(process.execPath, [program('prepare')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  };

  beforeAll(async () => {
    folder = await testFolder();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`;
  });

  afterAll(() => void server.close());

  test('waits for its turn after it has written the keys, where others of its kind are ready', async () => {
    status = 200;
    const running = prepare({ TURN_SECONDS: '600', READY_URL: url });
    const [line] = (await once(running.stdout, 'data')) as [Buffer];
    expect(line.toString()).toBe('Others of gateway are ready: this replica starts in 600 s.\n');
    expect(readFileSync(join(folder, 'keys'), 'utf8')).toMatch(/^SERVICE_KEYS='/);
    running.kill();
    // By a handler: a container's first process has no default for a signal.
    expect(await once(running, 'exit')).toEqual([143, null]);
  });

  test.each([
    ['no other is ready', 503, '600'],
    ['it has the first turn', 200, '0'],
  ])('does not wait where %s', async (_case, answer, seconds) => {
    status = answer;
    expect(await once(prepare({ TURN_SECONDS: seconds, READY_URL: url }), 'exit')).toEqual([0, null]);
  });

  test('says once why it waits for its schema', async () => {
    let connections = 0;
    const database = createTcpServer((socket) => {
      connections++;
      socket.once('data', () => socket.end());
    });
    await once(database.listen(0, '127.0.0.1'), 'listening');
    const { port } = database.address() as AddressInfo;
    const running = prepare({ SERVICE: 'credits', DATABASE_URL: `postgres://me:secret@127.0.0.1:${port}/db` });
    let text = '';
    running.stderr.on('data', (chunk) => (text += chunk));
    await until(() => connections >= 3);
    running.kill();
    await once(running, 'close');
    database.close();
    expect(text).toMatch(/^The schema credits was not migrated, and is tried again for up to 600 s: .+\n$/);
    expect(text).not.toContain('secret');
  });

  test('refuses a secret that the operator’s commands would refuse', async () => {
    const running = prepare({ SERVICE_SECRET: 'short' });
    let text = '';
    running.stderr.on('data', (chunk) => (text += chunk));
    expect(await once(running, 'close')).toEqual([1, null]);
    expect(text).toContain(shortSecret);
  });

  test('does not wait where no other can be reached', async () => {
    expect(await once(prepare({ TURN_SECONDS: '600', READY_URL: 'http://127.0.0.1:1/readyz' }), 'exit')).toEqual([0, null]);
  });
});
