import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Client, type ClientConfig, clientSettings, createClient, operatorService } from '@agent-service/contracts';
import { readConfig } from '@agent-service/runtime';
import { z } from 'zod';

export interface Connection {
  identity: Client<'identity'>;
  close(): void;
}

const schema = z.object({ ...clientSettings, IDENTITY_ADDRESS: z.string() });

/** In a container the settings say where the services are; in a checkout the running local system does. */
export function connect(env: NodeJS.ProcessEnv): Connection {
  const local = env.IDENTITY_ADDRESS ? {} : localSettings(resolve(env.DATA_DIR || '.data'));
  const config: ClientConfig & { IDENTITY_ADDRESS: string } = readConfig(schema, { ...local, ...env });
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: operatorService, config });
  return { identity, close: () => identity.close() };
}

function localSettings(dataDir: string): NodeJS.ProcessEnv {
  const endpoints = readJson(join(dataDir, 'endpoints.json'));
  const secrets = readJson(join(dataDir, 'secrets.json'));
  const addresses = Object.entries(endpoints)
    .filter(([name]) => /^identity(-\d+)?$/.test(name))
    .map(([, address]) => address.replace(/^ipv4:/, ''));
  return { IDENTITY_ADDRESS: `ipv4:${addresses.join(',')}`, SERVICE_SECRET: secrets.SERVICE_SECRET };
}

function readJson(file: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (cause) {
    throw new Error(
      `No running system found: ${file} can not be read. Start one with "npm start", name its folder with DATA_DIR, or set IDENTITY_ADDRESS and SERVICE_SECRET.`,
      { cause },
    );
  }
}
