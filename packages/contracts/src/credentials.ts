import { readFileSync } from 'node:fs';
import { ConfigurationError } from '@agent-service/runtime/config';
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';
import type { ClientConfig } from './settings.ts';

const read = (file: string | undefined) => (file ? readFileSync(file) : null);

/** TLS where an authority is named (mutual, when both sides have certificates), else plain text on this machine, beyond it only where the settings say so. */
export function clientCredentials(config: ClientConfig, address: string): ChannelCredentials {
  if (!config.GRPC_TLS_CA_FILE) {
    refusePlaintext(config, hostsOf(address), `calls of ${address} would leave this machine in plain text; set GRPC_TLS_CA_FILE`);
    return ChannelCredentials.createInsecure();
  }
  return ChannelCredentials.createSsl(read(config.GRPC_TLS_CA_FILE), read(config.GRPC_TLS_KEY_FILE), read(config.GRPC_TLS_CERT_FILE));
}

export function serverCredentials(config: ClientConfig & { HOST: string }): ServerCredentials {
  const key = read(config.GRPC_TLS_KEY_FILE);
  const certificate = read(config.GRPC_TLS_CERT_FILE);
  if (!key || !certificate) {
    const remedy = 'set GRPC_TLS_CERT_FILE and GRPC_TLS_KEY_FILE, or HOST=127.0.0.1';
    refusePlaintext(config, [config.HOST], `gRPC on ${config.HOST} would be reachable from outside in plain text; ${remedy}`);
    return ServerCredentials.createInsecure();
  }
  const authority = read(config.GRPC_TLS_CA_FILE);
  return ServerCredentials.createSsl(authority, [{ private_key: key, cert_chain: certificate }], authority !== null);
}

function refusePlaintext({ GRPC_ALLOW_PLAINTEXT: isAllowed }: ClientConfig, hosts: readonly string[], why: string): void {
  if (isAllowed || hosts.every(isThisMachine)) return;
  throw new ConfigurationError(
    `These settings need attention:\n  GRPC_ALLOW_PLAINTEXT: ${why}, or GRPC_ALLOW_PLAINTEXT=true in a private network`,
  );
}

const isThisMachine = (host: string) => host === 'localhost' || host === '::1' || host === 'unix' || /^127(\.\d{1,3}){3}$/.test(host);

/** The hosts of a gRPC target. */
function hostsOf(address: string): string[] {
  if (address.startsWith('unix:')) return ['unix'];
  const list = address.replace(/^(?:ipv[46]:|dns:(?:\/\/[^/]*\/)?)/, '');
  return list.split(',').map((each) => /^\[(.+)\]/.exec(each.trim())?.[1] ?? each.trim().replace(/:\d+$/, ''));
}
