import { setting } from '@agent-service/runtime';
import { z } from 'zod';
import type { KeyRing } from '../callers/service-keys.ts';

const keyEntry = /^[a-z-]{1,40}:[A-Za-z0-9_-]{43}$/;

/** Settings of every process that calls another. */
export const clientSettings = {
  /** The operator's secrets. The first signs, all are accepted. A service gets SERVICE_KEYS instead. */
  SERVICE_SECRET: setting
    .list()
    .refine(
      (secrets) => secrets.length > 0 && secrets.every((secret) => secret.length >= 32),
      'must be one or more secrets of at least 32 characters, separated by commas',
    )
    .optional(),
  /** `name:key,…` as `admin service-keys print` shows them: the process can call in its own name only. */
  SERVICE_KEYS: setting
    .list()
    .refine((entries) => entries.length > 0 && entries.every((entry) => keyEntry.test(entry)), 'must be a list of service:key')
    .transform(toKeyRing)
    .optional(),
  /** Calls in plain text leave this machine only where this says so. */
  GRPC_ALLOW_PLAINTEXT: setting.flag(false),
  GRPC_TLS_CA_FILE: z.string().optional(),
  GRPC_TLS_CERT_FILE: z.string().optional(),
  GRPC_TLS_KEY_FILE: z.string().optional(),
};

function toKeyRing(entries: readonly string[]): KeyRing {
  const pairs = entries.map((entry) => entry.split(':') as [string, string]);
  const byName = Map.groupBy(pairs, ([name]) => name);
  return new Map([...byName].map(([name, group]) => [name, group.map(([, key]) => key)]));
}

/** Settings of every process that serves gRPC. */
export const serverSettings = { ...clientSettings, GRPC_PORT: setting.port(50_051) };

const client = z.object(clientSettings);
/** Without settings of its own a process calls this machine only. */
export type ClientConfig = Partial<z.output<typeof client>>;
const server = z.object(serverSettings);
export type ServerConfig = ClientConfig & Pick<z.output<typeof server>, 'GRPC_PORT'>;
