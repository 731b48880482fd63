const serviceSecret = 'a-service-secret-that-is-long-enough';

export const peerSettings = {
  SERVICE_SECRET: [serviceSecret],
  HOST: '127.0.0.1',
  OPS_PORT: 0,
  LOG_LEVEL: 'silent',
  DRAIN_DELAY_MS: 0,
} as const;
