import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, testFolder } from '@agent-service/testkit';
import { startTimeOf } from '../src/processes/process-mark.ts';
import { type LocalOptions, type LocalSystem, startLocalSystem } from '../src/system/system.ts';
import { fakeCatalogue } from './fake-catalogue.ts';

/** The environment of a system that shares nothing with others. */
export async function ownEnvironment(settings: Record<string, string> = {}): Promise<Record<string, string>> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, DATA_DIR: await testFolder(), PORT: String(await freePort()), PORTAL_PORT: String(await freePort()), ...settings };
}

export async function startFakes(env: Record<string, string>, options: Partial<LocalOptions> = {}): Promise<LocalSystem> {
  return await startLocalSystem({ env, catalogue: fakeCatalogue, ...options });
}

/** The environment of a process, as it reports it. */
export async function environmentOf(system: LocalSystem, name: string): Promise<Record<string, string>> {
  // A worker has no other port than that of its probes.
  const address = (system.endpoints[name] ?? system.endpoints[`${name}.ops`])?.replace('ipv4:', 'http://') ?? '';
  return (await (await fetch(address)).json()) as Record<string, string>;
}

export function readData(dataDir: string, name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(dataDir, name), 'utf8')) as Record<string, unknown>;
}

export function pidsIn(dataDir: string): Record<string, number> {
  return existsSync(join(dataDir, 'processes.json')) ? (readData(dataDir, 'processes.json') as Record<string, number>) : {};
}

export function hasEnded(pid: number): boolean {
  return startTimeOf(pid) === undefined;
}
