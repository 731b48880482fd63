import type { ChannelOptions } from '@grpc/grpc-js';

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

/** For the connection to one replica. Which replica, and whether another, is decided above it. */
export const channelOptions: ChannelOptions = { ...keepalive, ...reconnect, 'grpc.enable_retries': 0 };

/** The server's side: as patient with pings as our clients are eager. */
export const serverOptions: ChannelOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 10_000,
};
