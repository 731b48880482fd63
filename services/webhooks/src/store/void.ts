import type { Sql } from '@agent-service/store';
import type { EndpointKey } from './keys.ts';
import { toTimestamp } from './time.ts';

/**
 * Drops a bounded number of deliveries that are not wanted any more, of one endpoint. Answers with how many, and with 1
 * where only the endpoint's mark was left to be taken away. What a dispatcher has in hand of them is not told of any more.
 */
export async function dropVoid(sql: Sql, now: number, limit: number): Promise<number> {
  const [endpoint] = await sql<EndpointKey & { voidBefore: string }>(
    `select organization_id as "organizationId", environment, id as "endpointId", void_before as "voidBefore" from endpoints
     where voiding order by organization_id, environment, id limit 1 for no key update skip locked`,
  );
  if (!endpoint) return 0;
  const { organizationId, environment, endpointId, voidBefore } = endpoint;
  const dropped = await sql(
    `update deliveries set state = 'dropped', ended_at = $6, look_at = null where (organization_id, environment, id) in (
       select organization_id, environment, id from deliveries
       where organization_id = $1 and environment = $2 and endpoint_id = $3 and ended_at is null and created_at <= $4
       limit $5 for update skip locked)
     returning 1`,
    [organizationId, environment, endpointId, voidBefore, limit, toTimestamp(now)],
  );
  if (dropped.length === limit) return dropped.length;
  await sql('update endpoints set voiding = false where organization_id = $1 and environment = $2 and id = $3', [
    organizationId,
    environment,
    endpointId,
  ]);
  return Math.max(1, dropped.length);
}
