import { readFileSync } from 'node:fs';
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';
import type { ClientConfig } from './settings.ts';

const read = (file: string | undefined) => (file ? readFileSync(file) : null);

/** Plain text inside a trusted network, or TLS where certificate files are set (mutual, when both sides have them). */
export function clientCredentials(config: ClientConfig): ChannelCredentials {
  if (!config.GRPC_TLS_CA_FILE) return ChannelCredentials.createInsecure();
  return ChannelCredentials.createSsl(read(config.GRPC_TLS_CA_FILE), read(config.GRPC_TLS_KEY_FILE), read(config.GRPC_TLS_CERT_FILE));
}

export function serverCredentials(config: ClientConfig): ServerCredentials {
  const key = read(config.GRPC_TLS_KEY_FILE);
  const certificate = read(config.GRPC_TLS_CERT_FILE);
  if (!key || !certificate) return ServerCredentials.createInsecure();
  const authority = read(config.GRPC_TLS_CA_FILE);
  return ServerCredentials.createSsl(authority, [{ private_key: key, cert_chain: certificate }], authority !== null);
}
