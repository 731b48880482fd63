import { createPrivateKey, X509Certificate } from 'node:crypto';
import { setting } from '@agent-service/runtime';
import { z } from 'zod';
import type { KeyRing } from '../callers/service-keys.ts';

const keyEntry = /^[a-z-]{1,40}:[A-Za-z0-9_-]{43}$/;

/** The first certificate of a PEM file is read. */
export const certificateFile = () => setting.file('a certificate', (content) => new X509Certificate(content));

/** Settings of every process that calls another. */
export const clientSettings = {
  SERVICE_SECRET: setting
    .list()
    .refine(
      (secrets) => secrets.length > 0 && secrets.every((secret) => secret.length >= 32),
      'must be one or more secrets of at least 32 characters, separated by commas',
    )
    .optional()
    .describe(
      "The operator's own: the keys of every service are derived from it, and with it the command line acts as operator. Several are separated by commas: the first signs, all are accepted. A service gets `SERVICE_KEYS` instead.",
    ),
  SERVICE_KEYS: setting
    .list()
    .refine((entries) => entries.length > 0 && entries.every((entry) => keyEntry.test(entry)), 'must be a list of service:key')
    .transform(toKeyRing)
    .optional()
    .describe(
      'The keys with which one service signs its calls and knows its callers, as `service-keys print` shows it: the process can call in its own name only; [how to set and change them](../decisions/0025-service-calls-are-signed-for-one-method.md).',
    ),
  GRPC_ALLOW_PLAINTEXT: setting
    .flag(false)
    .describe(
      'Calls between services may leave this machine in plain text. Without it a service that listens or calls beyond loopback needs TLS.',
    ),
  GRPC_TLS_CA_FILE: certificateFile()
    .optional()
    .describe("The authority that callers trust, and that a server demands of its callers' certificates where the server has it."),
  GRPC_TLS_CERT_FILE: certificateFile()
    .optional()
    .describe('The certificate of a server of gRPC. It, its key and the authority are read again every minute.'),
  GRPC_TLS_KEY_FILE: setting.file('a private key', createPrivateKey).optional().describe('The key of that certificate.'),
};

function toKeyRing(entries: readonly string[]): KeyRing {
  const pairs = entries.map((entry) => entry.split(':') as [string, string]);
  const byName = Map.groupBy(pairs, ([name]) => name);
  return new Map([...byName].map(([name, group]) => [name, group.map(([, key]) => key)]));
}

/** Settings of every process that serves gRPC. */
export const serverSettings = { ...clientSettings, GRPC_PORT: setting.port(50_051).describe('The port of gRPC between services.') };

const onThisMachine = ['127.0.0.1', 'localhost', '[::1]'];

/** Settings of the portal, which leads people to their provider, and of identity, which verifies the tokens they come back with. */
export const openIdConnectSettings = {
  OPENID_CONNECT_ISSUER: setting
    .url('http:', 'https:')
    .refine((issuer) => {
      const { protocol, hostname } = new URL(issuer);
      return protocol === 'https:' || onThisMachine.includes(hostname);
    }, 'must begin with https://, except on this machine')
    .optional()
    .describe('An OpenID Connect provider that people may sign in to the portal with, as `https://login.example.com`.'),
  OPENID_CONNECT_CLIENT_ID: setting.text().optional().describe('The id of the portal at the OpenID Connect provider.'),
};

const client = z.object(clientSettings);
/** Without settings of its own a process calls this machine only. */
export type ClientConfig = Partial<z.output<typeof client>>;
const server = z.object(serverSettings);
export type ServerConfig = ClientConfig & Pick<z.output<typeof server>, 'GRPC_PORT'>;
