import { loadService } from '../src/catalogue.ts';
import type { ServiceName } from '../src/index.ts';

/** The settings of a service that a test serves. */
export const config = {
  SERVICE_SECRET: ['a-service-secret-that-is-long-enough'],
  HOST: '127.0.0.1',
  GRPC_PORT: 0,
  OPS_PORT: 0,
  LOG_LEVEL: 'silent',
  DRAIN_DELAY_MS: 0,
} as const;

/** An implementation of every method of a service. */
export const everyMethod = <Rpc>(service: ServiceName, implement: (name: string) => Rpc): Record<string, Rpc> =>
  Object.fromEntries(
    Object.keys(loadService(service)).map((name) => {
      const method = name.charAt(0).toLowerCase() + name.slice(1);
      return [method, implement(method)];
    }),
  );
