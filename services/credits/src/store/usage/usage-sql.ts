import { type Call, createFairLimiter, tenantOf } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';

/** Gives the reads of usage of one call their statements. */
export type UsageSql = (call: Pick<Call, 'principal' | 'signal'>) => Sql;

/** The statements of all reads that one key may send in a minute: 600 reads of four statements. */
const maxWaiting = 2_400;

/**
 * The statements of one organization run one after the other, on connections that leave half of the pool to everything else. Over the usage
 * of a large organization they take long: as many at once as it may send would keep the holds of all organizations waiting.
 */
export function createUsageSql(sql: Sql, connections: number): UsageSql {
  const limiter = createFairLimiter({ permits: Math.ceil(connections / 2), maxWaiting });
  return (call) => (statement, values) => limiter.run(tenantOf(call).organizationId, () => sql(statement, values), call.signal);
}
