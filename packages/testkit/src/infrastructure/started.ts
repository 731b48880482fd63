import type { InfrastructureKind } from './settings.ts';

/** A PostgreSQL and a Redis that run, with the administrator's URLs. */
export interface StartedServers {
  readonly kind: InfrastructureKind;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  stop(): Promise<void>;
}
