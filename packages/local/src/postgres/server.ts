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
/** PostgreSQL's code while it starts, and while it replays its log after it was ended hard. */
const cannotConnectNow = '57P03';

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
    isReady: async () => (await connect(url, folder)) === undefined,
    // A stop would discard all that it has replayed.
    isRestoring: async () => (await connect(url, folder)) === cannotConnectNow,
    // A "fast" shutdown: sessions are ended, the data is written.
    stopSignal: 'SIGINT',
    stopLimitMs: 20_000,
  };
}

/** Resolves to undefined where a statement runs, and to the code of the failure otherwise. */
async function connect(url: string, folder: string): Promise<string | undefined> {
  const client = new Client({ connectionString: url, ssl: false, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return undefined;
  } catch (cause) {
    const code = errorCode(cause) ?? 'unknown';
    if (code === wrongPassword) throw lostPassword(folder);
    return code;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function lostPassword(folder: string): OperatorFault {
  return new OperatorFault(
    `The password kept in secrets.json does not open the database in ${folder}. Bring that file back, or start over with: npm run reset`,
  );
}
