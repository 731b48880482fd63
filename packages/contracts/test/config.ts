/** The settings of a service that a test serves. */
export const config = {
  SERVICE_SECRET: ['a-service-secret-that-is-long-enough'],
  HOST: '127.0.0.1',
  GRPC_PORT: 0,
  OPS_PORT: 0,
  LOG_LEVEL: 'silent',
  DRAIN_DELAY_MS: 0,
} as const;
