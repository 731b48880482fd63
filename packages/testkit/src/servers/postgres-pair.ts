import { chmodSync, chownSync, cpSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readIfPresent } from '@agent-service/local/host/files';
import { freePort } from '@agent-service/local/host/ports';
import { preparePostgres } from '@agent-service/local/postgres/server';
import { beginLife, type Life, waitUntilReady } from '@agent-service/local/processes/life';
import { signalGroup } from '@agent-service/local/processes/process-mark';
import type { ServerSpec } from '@agent-service/local/processes/spec';
import { testFolder } from '../infrastructure/run-folder.ts';
import { until } from '../until.ts';
import { withDatabase } from './test-database.ts';

/** A primary and a standby that confirms every commit. */
export interface PostgresPair {
  /** Both servers, as DATABASE_URL takes them. */
  readonly url: string;
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  /** Kills the primary, so that clients get no notice, as after a power cut. */
  killPrimary(): Promise<void>;
  /** The standby receives and confirms nothing until it is thawed. */
  freezeStandby(): void;
  thawStandby(): void;
  /** The standby accepts writes when this resolves. It waits for no other server. */
  promoteStandby(): Promise<void>;
  remove(): Promise<void>;
}

const startLimitMs = 30_000;
const password = 'postgres';

export async function postgresPair(): Promise<PostgresPair> {
  const folder = await testFolder();
  const lives = new Map<string, Life>();
  const prepare = async (name: string) =>
    await preparePostgres({ folder: join(folder, name), port: await freePort(), profile: 'crash-safe', password });
  const start = async (name: string, spec: ServerSpec) => {
    const log = join(folder, `${name}.log`);
    const life = await beginLife(spec, log);
    lives.set(name, life);
    await waitUntilReady(spec, life, log, startLimitMs);
  };
  const primary = await prepare('primary');
  copyCluster(join(folder, 'primary'), join(folder, 'standby'));
  const standby = await prepare('standby');
  const { port } = new URL(primary.url);
  writeAsServer(join(folder, 'standby'), 'standby.signal', '');
  const source = `host=127.0.0.1 port=${port} user=postgres password=${password} application_name=standby`;
  writeAsServer(join(folder, 'standby'), 'postgresql.auto.conf', `primary_conninfo = '${source}'\nhot_standby_feedback = on\n`);
  await start('primary', primary);
  await start('standby', standby);
  await withDatabase(primary.url, async (client) => {
    await client.query("alter system set synchronous_standby_names = 'standby'");
    await client.query('select pg_reload_conf()');
    const state = "select 1 from pg_stat_replication where sync_state = 'sync' and state = 'streaming'";
    await until('the standby confirms commits', async () => (await client.query(state)).rowCount === 1);
  });
  const signal = (name: string, kind: NodeJS.Signals) => signalServer((lives.get(name) as Life).pid, kind);
  return {
    url: `postgres://postgres:${password}@${new URL(primary.url).host},${new URL(standby.url).host}/postgres?target_session_attrs=read-write`,
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    async killPrimary() {
      signal('primary', 'SIGKILL');
      await lives.get('primary')?.ended;
    },
    freezeStandby: () => signal('standby', 'SIGSTOP'),
    thawStandby: () => signal('standby', 'SIGCONT'),
    promoteStandby: () =>
      withDatabase(standby.url, async (client) => {
        await client.query('select pg_promote(true, 60)');
      }),
    async remove() {
      signal('standby', 'SIGCONT');
      await Promise.all([...lives.values()].map((life) => life.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Signals a server with its processes, which lead groups of their own. */
function signalServer(postmaster: number, signal: NodeJS.Signals): void {
  const isChild = (pid: string) => new RegExp(`^PPid:\\s+${postmaster}$`, 'm').test(readIfPresent(`/proc/${pid}/status`) ?? '');
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isChild(name));
  for (const pid of [postmaster, ...children.map(Number)]) signalGroup(pid, signal, 'leader');
}

/** A server reads its files only if they are its user's. */
function writeAsServer(folder: string, name: string, content: string): void {
  const { uid, gid } = statSync(folder);
  writeFileSync(join(folder, name), content, { mode: 0o600 });
  chownSync(join(folder, name), uid, gid);
}

/** A cluster that is not running can be copied as files, with their owner. */
function copyCluster(from: string, to: string): void {
  const { uid, gid } = statSync(from);
  cpSync(from, to, { recursive: true });
  chmodSync(to, 0o700);
  for (const path of ['.', ...readdirSync(to, { recursive: true, encoding: 'utf8' })]) chownSync(join(to, path), uid, gid);
}
