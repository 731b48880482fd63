import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LocalSystem } from '@agent-service/local/system/system';
import { machineEnvironment, sharedInfrastructure, workerName } from '../infrastructure/settings.ts';
import { until } from '../until.ts';
import { withoutRateLimits } from './test-system.ts';

/** A running system whose processes another process holds. */
export type SystemAccess = Omit<LocalSystem, 'processes' | 'stop'>;

const startLimitMs = 120_000;
const settings = { ...withoutRateLimits, REPLICAS: 'gateway=2', WEBHOOKS_ENABLED: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

/**
 * A system with two gateways, webhooks and without rate limits that one file of a Jest worker uses after the other, each with
 * organizations of its own. The first file starts it and the end of the run stops it. A file that stops or kills processes,
 * counts rows of all tenants or needs other settings has a system of its own.
 */
export async function sharedSystem(): Promise<SystemAccess> {
  const { folder } = sharedInfrastructure();
  const file = join(folder, `system-of-worker-${workerName}.json`);
  const log = `${file}.log`;
  const known = readSystem(file);
  if (known) return known;
  const output = openSync(log, 'a', 0o600);
  const host = spawn(process.execPath, [fileURLToPath(new URL('system-host.ts', import.meta.url)), JSON.stringify(settings), file], {
    env: { ...process.env, ...machineEnvironment },
    stdio: ['ignore', output, output],
    detached: true,
  });
  closeSync(output);
  host.unref();
  await until('the shared system is ready', async () => host.exitCode !== null || existsSync(file), startLimitMs);
  const started = readSystem(file);
  if (!started) throw new Error(`the shared system ended with ${host.exitCode}:\n${readFileSync(log, 'utf8')}`);
  return started;
}

function readSystem(file: string): SystemAccess | undefined {
  if (!existsSync(file)) return undefined;
  const { pid, ...system } = JSON.parse(readFileSync(file, 'utf8')) as SystemAccess & { pid: number };
  return isRunning(pid) ? system : undefined;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
