import type { Sql } from '@agent-service/store';
import { deliveriesKeptMs } from './months.ts';
import { toTimestamp } from './time.ts';

/** Removes a bounded number of deleted endpoints whose deliveries nobody can ask for any more; answers with how many. */
export async function removeDeletedEndpoints(sql: Sql, now: number, limit: number): Promise<number> {
  const removed = await sql(
    `delete from endpoints where (organization_id, environment, id) in (
       select organization_id, environment, id from endpoints where deleted_at < $1 limit $2 for update skip locked)
     returning 1`,
    [toTimestamp(now - deliveriesKeptMs), limit],
  );
  return removed.length;
}
