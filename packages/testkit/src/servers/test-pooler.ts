import { spawn } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { serverUser } from '@agent-service/local/postgres/location';
import { takeFolder } from '@agent-service/local/processes/ownership';
import { outputTo, type ServerSpec } from '@agent-service/local/processes/spec';
import { startServer } from '../infrastructure/embedded.ts';
import { testFolder } from '../infrastructure/run-folder.ts';
import { withDatabase } from './test-database.ts';

/** A PgBouncer in transaction mode. */
export interface TestPooler {
  /** As DATABASE_POOLER takes it. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts a PgBouncer in front of the server of an administrator's URL. Roles log in to it with the passwords that the server knows. */
export async function testPooler(adminUrl: string): Promise<TestPooler> {
  const [folder, port] = [await testFolder(), await freePort()];
  const { hostname, port: serverPort, username, password } = new URL(adminUrl);
  const user = serverUser(join(folder, 'none'));
  const write = (name: string, lines: readonly string[]) => {
    writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
    if (user) chownSync(join(folder, name), user.uid, user.gid);
  };
  write('users.txt', [`"${username}" "${password}"`]);
  write('pgbouncer.ini', [
    '[databases]',
    `* = host=${hostname} port=${serverPort || 5432} auth_user=${username}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'pool_mode = transaction'],
    ...['auth_type = scram-sha-256', `auth_file = ${join(folder, 'users.txt')}`],
    'auth_query = select usename, passwd from pg_catalog.pg_shadow where usename = $1',
    // Fewer than clients have: a service that relied on its session would see the one of another.
    ...['default_pool_size = 5', 'max_client_conn = 1000', 'max_db_connections = 60'],
  ]);
  const url = new URL(adminUrl);
  url.host = `127.0.0.1:${port}`;
  const spec: ServerSpec = {
    name: 'pgbouncer',
    url: url.href,
    spawn: (log) => spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], { ...user, cwd: '/', detached: true, stdio: outputTo(log) }),
    isReady: () =>
      withDatabase(url.href, (client) => client.query('select 1')).then(
        () => true,
        () => false,
      ),
    stopSignal: 'SIGTERM',
    stopLimitMs: 5_000,
  };
  const { life } = await startServer(spec, folder, await takeFolder(folder));
  return { address: `127.0.0.1:${port}`, stop: life.stop };
}
