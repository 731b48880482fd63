import type { ChannelOptions } from '@grpc/grpc-js';
import { isRepeatable } from './methods.ts';

const maxMessageBytes = 8 * 1024 * 1024;

const keepalive: ChannelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': maxMessageBytes,
};

/** A service that comes back is found within a fraction of a second, not after the library's minutes. */
const reconnect: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
};

const retryPolicy = {
  maxAttempts: 3,
  initialBackoff: '0.05s',
  maxBackoff: '0.5s',
  backoffMultiplier: 2,
  retryableStatusCodes: ['UNAVAILABLE'],
};

/** Spread over every address; send again only what its proto declares free of effects or idempotent. */
export function channelOptions(methods: readonly { path: string }[]): ChannelOptions {
  const repeatable = methods.filter(isRepeatable);
  const methodConfig = [{ name: repeatable.map(({ path }) => methodName(path)), retryPolicy }];
  const config = { loadBalancingConfig: [{ round_robin: {} }], ...(repeatable.length > 0 && { methodConfig }) };
  return { ...keepalive, ...reconnect, 'grpc.service_config': JSON.stringify(config) };
}

function methodName(path: string): { service: string; method: string } {
  const [, service = '', method = ''] = path.split('/');
  return { service, method };
}

/** The server's side: as patient with pings as our clients are eager. */
export const serverOptions: ChannelOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 10_000,
};
