import { spawn } from 'node:child_process';
import { OperatorFault } from '@agent-service/runtime/failures';
import { Client } from 'pg';
import { serverEnvironment } from '../host/environment.ts';
import { errorCode } from '../host/files.ts';
import { outputTo, type ServerSpec } from '../processes/spec.ts';
import { ensureCluster, type PostgresProfile, postgresBinaries, serverSettings } from './cluster.ts';
import { serverUser } from './location.ts';
import { clearPostmaster } from './postmaster-file.ts';

/** PostgreSQL's code of an error that waiting does not end. */
export const wrongPassword = '28P01';

interface PostgresOptions {
  readonly folder: string;
  readonly port: number;
  readonly profile: PostgresProfile;
  readonly password: string;
}

/** Creates the cluster if needed and returns its server's spec, whose URL is the administrator's. */
export async function preparePostgres({ folder, port, profile, password }: PostgresOptions): Promise<ServerSpec> {
  const user = serverUser(folder);
  const binaries = await postgresBinaries(user);
  await ensureCluster(binaries, { folder, profile, password, user });
  const settings = Object.entries(serverSettings[profile]).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
  return {
    name: 'postgres',
    url,
    prepare: () => clearPostmaster(folder),
    spawn: (log) =>
      spawn(binaries.postgres, ['-D', folder, '-p', String(port), ...settings], {
        ...user,
        // None of the operator's variables: functions in other languages could read them.
        env: serverEnvironment,
        cwd: '/',
        detached: true,
        stdio: outputTo(log),
      }),
    isReady: () => answers(url, folder),
    // A "fast" shutdown: sessions are ended, the data is written.
    stopSignal: 'SIGINT',
    stopLimitMs: 20_000,
  };
}

async function answers(url: string, folder: string): Promise<boolean> {
  const client = new Client({ connectionString: url, ssl: false, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch (cause) {
    if (errorCode(cause) === wrongPassword) throw lostPassword(folder);
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function lostPassword(folder: string): OperatorFault {
  return new OperatorFault(
    `The password kept in secrets.json does not open the database in ${folder}. Bring that file back, or start over with: npm run reset`,
  );
}
