import { ConfigurationError } from '@agent-service/runtime/config';
import { ChannelCredentials, type ChannelOptions, experimental, ServerCredentials } from '@grpc/grpc-js';
import { CertificateFiles } from './certificate-files.ts';
import type { ClientConfig } from './settings.ts';

const maxMessageBytes = 8 * 1024 * 1024;

const keepalive: ChannelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': maxMessageBytes,
};

/** A service that comes back is found within half a second, not after the library's minutes. */
const reconnect: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
};

/** For the connection to one replica. Which replica, and whether another, is decided above it. Proxies of the environment are for other hosts than ours. */
export const channelOptions: ChannelOptions = { ...keepalive, ...reconnect, 'grpc.enable_retries': 0, 'grpc.enable_http_proxy': 0 };

/** A server pings each client every 60 s, and closes a connection that has not answered for 10 s. */
export const serverOptions: ChannelOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  // Each open call holds several kB before it is verified. Our own clients share one stream, but for calls of more than 64 kB.
  'grpc.max_concurrent_streams': 1_000,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 10_000,
};

/** TLS where an authority is named (mutual, when both sides have certificates), else plain text on this machine, beyond it only where the settings say so. */
export function clientCredentials(config: ClientConfig, address: string): ChannelCredentials {
  if (!config.GRPC_TLS_CA_FILE) {
    refusePlaintext(config, hostsOf(address), `calls of ${address} would leave this machine in plain text; set GRPC_TLS_CA_FILE`);
    return ChannelCredentials.createInsecure();
  }
  const files = new CertificateFiles(config);
  return experimental.createCertificateProviderChannelCredentials(files, files.hasIdentity ? files : null);
}

export function serverCredentials(config: ClientConfig & { HOST: string }): ServerCredentials {
  const files = new CertificateFiles(config);
  if (!files.hasIdentity) {
    const remedy = 'set GRPC_TLS_CERT_FILE and GRPC_TLS_KEY_FILE, or HOST=127.0.0.1';
    refusePlaintext(config, [config.HOST], `gRPC on ${config.HOST} would be reachable from outside in plain text; ${remedy}`);
    return ServerCredentials.createInsecure();
  }
  // Without an authority callers need no certificate: the library takes null for that, which its type does not say.
  const authority = files.hasAuthority ? files : (null as unknown as CertificateFiles);
  return experimental.createCertificateProviderServerCredentials(authority, files, files.hasAuthority);
}

function refusePlaintext({ GRPC_ALLOW_PLAINTEXT: isAllowed }: ClientConfig, hosts: readonly string[], why: string): void {
  if (isAllowed || hosts.every(isThisMachine)) return;
  throw new ConfigurationError([`GRPC_ALLOW_PLAINTEXT: ${why}, or GRPC_ALLOW_PLAINTEXT=true in a private network`]);
}

const isThisMachine = (host: string) => host === 'localhost' || host === '::1' || host === 'unix' || /^127(\.\d{1,3}){3}$/.test(host);

/** The hosts of a gRPC target. */
function hostsOf(address: string): string[] {
  if (address.startsWith('unix:')) return ['unix'];
  const list = address.replace(/^(?:ipv[46]:|dns:(?:\/\/[^/]*\/)?)/, '');
  return list.split(',').map((each) => /^\[(.+)\]/.exec(each.trim())?.[1] ?? each.trim().replace(/:\d+$/, ''));
}
