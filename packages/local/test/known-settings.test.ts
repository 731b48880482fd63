import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigurationError } from '@agent-service/runtime/config';
import { expect, test } from '@jest/globals';
import { repositoryRoot } from '../src/host/environment.ts';
import { catalogue } from '../src/system/catalogue.ts';
import { namesFor } from '../src/system/environment.ts';
import { settingName } from '../src/system/secrets.ts';

type Reader = (env: NodeJS.ProcessEnv) => unknown;

/** Every setting that a service's schema asks for. */
async function settingsOf(entry: string): Promise<string[]> {
  const file = join(repositoryRoot, entry.replace('main.ts', 'config.ts'));
  const module = (await import(pathToFileURL(file).href)) as Record<string, Reader>;
  const read = Object.entries(module).find(([name]) => /^read\w+Config$/.test(name))?.[1];
  const requested = new Set<string>();
  const env = new Proxy({}, { get: (_, name: string) => void requested.add(name) });
  // Nothing is set, so that what a service requires is reported as missing.
  expect(() => read?.(env)).toThrow(ConfigurationError);
  return [...requested];
}

test.each(catalogue.map((entry) => [entry.name, entry] as const))('%s gets every setting of its schema', async (_, entry) => {
  const planned = [
    'HOST',
    'OPS_PORT',
    'PORT',
    'GRPC_PORT',
    'PORTAL_PORT',
    'GATEWAY_URL',
    'DATABASE_URL',
    'DATABASE_OWNER_URL',
    'REDIS_URL',
    'SERVICE_SECRET',
    'SERVICE_KEYS',
    ...entry.secrets,
  ];
  const addresses = entry.needs.map((service) => `${settingName(service)}_ADDRESS`);
  const known = new Set([...namesFor(entry, []), ...planned, ...addresses]);
  const requested = await settingsOf(entry.entry);
  expect(requested.filter((name) => !known.has(name))).toEqual([]);
  expect(entry.settings.filter((name) => !requested.includes(name))).toEqual([]);
});
