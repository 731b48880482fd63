// PostgreSQL's programs of this machine: two servers of their version, one with a system that has answered and an empty one. The database that the
// documents restore on the empty one has to serve as a system, with every record of the first.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdirSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { environment } from '@agent-service/local/host/environment';
import { freePort } from '@agent-service/local/host/ports';
import { serverUser } from '@agent-service/local/postgres/location';
import { withDatabase } from '@agent-service/local/postgres/with-database';
import { seed } from '@agent-service/local/seed';
import { readCredentials } from '@agent-service/local/system/secrets';
import { testSystemWithServers, until } from '@agent-service/testkit';
import { testBuild } from '@agent-service/testkit/infrastructure/settings';

const programs = ['initdb', 'postgres', 'pg_dump', 'pg_dumpall', 'pg_restore', 'psql', 'createdb', 'vacuumdb'];
const localeOptions = ['--encoding=UTF8', '--locale=C.UTF-8'];
const connectLimitMs = 5000;
/** The hosts in the documents: the server of the system, and the one that it is restored on. */
const hosts = ['db.example.com', 'new-db.example.com'];

/** The newest folder that has all programs of one version. Debian keeps them apart from PATH. */
function findPrograms() {
  const debian = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => versionOf(b) - versionOf(a));
  const folders = [...debian, ...(environment.PATH ?? '').split(delimiter)];
  return folders.find((folder) => programs.every((name) => existsSync(join(folder, name))));
}

const versionOf = (folder) => Number(dirname(folder).split('/').at(-1));

/** An empty server that needs no password from this machine. */
async function startServer(bin, folder) {
  const user = serverUser(folder);
  mkdirSync(folder, { mode: 0o700 });
  if (user) chownSync(folder, user.uid, user.gid);
  execFileSync(join(bin, 'initdb'), ['-D', folder, '-U', 'postgres', '--auth=trust', '--no-sync', ...localeOptions], {
    ...user,
    cwd: '/',
    stdio: 'pipe',
  });
  const port = await freePort();
  const settings = ['-c', 'unix_socket_directories=', '-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=200', '-c', 'fsync=off'];
  const server = spawn(join(bin, 'postgres'), ['-D', folder, '-p', String(port), ...settings], { ...user, cwd: '/', stdio: 'ignore' });
  const ended = once(server, 'exit');
  const url = (database) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await until('PostgreSQL accepts connections', () => withDatabase(url('postgres'), connectLimitMs, () => Promise.resolve(true)));
  return {
    port,
    url,
    async stop() {
      server.kill('SIGQUIT');
      await ended;
    },
  };
}

/** Asks a question in the organization of the demonstration, which is charged. Its business data is not part of the backup, and not asked for. */
async function answerOnce({ url, dataDir }) {
  const key = readCredentials(join(dataDir, 'credentials.json'))?.api_keys.live;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const call = async (method, path, body) => {
    const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text).data;
  };
  const agent = await call('POST', '/v1/agents', { name: 'Backup', system_prompt: 'Answer shortly.', data_scope: { tables: [] } });
  await call('PATCH', `/v1/agents/${agent.id}`, { status: 'active' });
  await call('POST', `/v1/agents/${agent.id}/messages`, { message: 'Are you there?' });
}

const readUsage = (url) =>
  withDatabase(url, connectLimitMs, async (client) =>
    Number((await client.query('select count(*) from credits.usage_records')).rows[0].count),
  );

/** The steps of docs/operations/backup.md behind the restore: the system starts with its secrets, and both commands find no fault. */
async function findRestoreFaults(url, dataDir, expected) {
  const restored = await readUsage(url);
  const system = await testSystemWithServers({ DATABASE_URL: url, DATA_DIR: dataDir });
  try {
    const main = testBuild ? join(testBuild, 'admin.js') : resolve('packages/cli/src/main.ts');
    for (const noun of ['credits', 'audit'])
      execFileSync(process.execPath, [main, noun, 'verify'], { env: { ...environment, DATA_DIR: dataDir }, stdio: 'pipe' });
    await answerOnce(system);
    return restored === expected && expected > 0 ? [] : [`${restored} of ${expected} usage records were restored`];
  } finally {
    await system.stop();
  }
}

export const postgresql = {
  findLack: () => (findPrograms() ? undefined : `no folder has all of ${programs.join(', ')}`),
  async prepare(folder) {
    const stops = [];
    const finish = async () => {
      for (const stop of stops.splice(0).reverse()) await stop();
    };
    try {
      return { ...(await prepareServers(folder, stops)), finish };
    } catch (cause) {
      await finish();
      throw cause;
    }
  },
};

/** Starts both servers, and a system on the first that has answered; `stops` gets what ends each of them. */
async function prepareServers(folder, stops) {
  const bin = findPrograms();
  const servers = [];
  for (const name of ['postgres', 'postgres-new']) {
    servers.push(await startServer(bin, join(folder, name)));
    stops.push(servers.at(-1).stop);
  }
  const [server, empty] = servers;
  const address = { PGHOST: '127.0.0.1', PGPORT: String(server.port), PGUSER: 'postgres' };
  execFileSync(join(bin, 'createdb'), ['agent_service'], { env: { ...environment, ...address } });
  const system = await testSystemWithServers({ DATABASE_URL: server.url('agent_service') });
  stops.push(system.stop);
  await seed(system);
  await answerOnce(system);
  const replaceHost = (text, host, index) =>
    text.replaceAll(`PGHOST=${host} PGPORT=5432`, `PGHOST=127.0.0.1 PGPORT=${servers[index].port}`);
  return {
    env: { PATH: [bin, dirname(process.execPath), environment.PATH].join(delimiter) },
    adapt: (script) => hosts.reduce(replaceHost, script),
    async check() {
      const expected = await readUsage(server.url('agent_service'));
      await system.stop();
      return await findRestoreFaults(empty.url('agent_service'), system.dataDir, expected);
    },
  };
}
