import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LocalSystem } from '@agent-service/local/system/system';
import { machineEnvironment, sharedInfrastructure, systemRedisKind } from '../infrastructure/settings.ts';
import { withDatabase } from '../servers/test-database.ts';
import { until } from '../until.ts';
import { dataSourceNetworks, withoutRateLimits } from './test-system.ts';

/** A running system whose processes another process holds. */
export type SystemAccess = Omit<LocalSystem, 'processes' | 'stop'>;

/** The access of one test file to the shared system. */
export interface SharedSystem extends SystemAccess {
  /** Ends the access. The system stops when it has had no user for a while. */
  leave(): void;
}

/** The contents of the file that a host writes when its system is ready. */
export interface HostedSystem extends SystemAccess {
  readonly leasePort: number;
}

const startLimitMs = 120_000;
const settings = { ...withoutRateLimits, REPLICAS: 'gateway=2', WEBHOOKS_ENABLED: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
/** The session lock under which one worker of Jest starts the system while the others wait. */
const startLock = 727_274_002;

/**
 * A system with two gateways, webhooks and without rate limits that test files of all workers use at the same time, each with
 * organizations of its own. The first file starts it. A file that stops or kills processes, counts rows of all tenants or needs
 * other settings has a system of its own.
 */
export async function sharedSystem(): Promise<SharedSystem> {
  const { folder, postgresUrl } = sharedInfrastructure();
  const file = join(folder, `shared-system-${systemRedisKind()}.json`);
  return await withDatabase(postgresUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [startLock]);
    const running = await enter(file);
    if (running) return running;
    await startHost(file);
    const started = await enter(file);
    if (!started) throw new Error('the shared system stopped before its first use');
    return started;
  });
}

async function startHost(file: string): Promise<void> {
  // A host that was killed has left it.
  rmSync(file, { force: true });
  const log = `${file}.log`;
  const output = openSync(log, 'a', 0o600);
  const all = JSON.stringify({ ...settings, ...(await dataSourceNetworks()) });
  const host = spawn(process.execPath, [fileURLToPath(new URL('system-host.ts', import.meta.url)), all, file], {
    env: { ...process.env, ...machineEnvironment },
    stdio: ['ignore', output, output],
    detached: true,
  });
  closeSync(output);
  host.unref();
  await until('the shared system is ready', async () => host.exitCode !== null || existsSync(file), startLimitMs);
  if (!existsSync(file)) throw new Error(`the shared system ended with ${host.exitCode}:\n${readFileSync(log, 'utf8')}`);
}

/** Connects to the host of the system, if there is one. The open connection is the lease that keeps the system running. */
async function enter(file: string): Promise<SharedSystem | undefined> {
  if (!existsSync(file)) return undefined;
  const { leasePort, ...system } = JSON.parse(readFileSync(file, 'utf8')) as HostedSystem;
  const lease = connect(leasePort, '127.0.0.1');
  // A connection may wait at a port whose host is stopping: the lease begins with the host's first byte.
  const isGranted = await new Promise<boolean>((resolve) => {
    lease.once('data', () => resolve(true));
    lease.once('close', () => resolve(false));
    lease.on('error', () => undefined);
  });
  lease.unref();
  return isGranted ? { ...system, leave: () => void lease.destroy() } : undefined;
}
