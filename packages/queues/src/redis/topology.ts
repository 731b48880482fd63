export type RedisMode = 'single' | 'sentinel' | 'cluster';

/** What is known of the servers behind REDIS_URL, once one of them has answered. */
export interface Topology {
  readonly mode: RedisMode;
  /** The name of the primary that sentinels watch over; empty without them. */
  readonly master: string;
}
