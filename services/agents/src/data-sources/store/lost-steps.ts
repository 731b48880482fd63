import type { Sql } from '@agent-service/store';
import { itemsByKey } from '../../answers/store/sql.ts';
import { type Attempt, type ClaimedStep, claimColumns } from './step-claim.ts';
import { entryOf } from './step-entries.ts';

/** Claimed, never finished, and the audit log has not heard yet that nobody knows more. */
const untold = `select ${claimColumns} from answer_steps s where s.finished_at is null and s.lost_at is null`;
const ofAnswer = 's.organization_id = $1 and s.environment = $2 and s.answer_id = $3';

/** The claim of a step whose worker does not know what became of it. */
export const lostClaim = (
  sql: Sql,
  { organizationId, environment, answerId, attempt, step }: Attempt & { readonly step: number },
): Promise<ClaimedStep[]> =>
  sql<ClaimedStep>(`${untold} and ${ofAnswer} and s.attempt = $4 and s.step = $5`, [organizationId, environment, answerId, attempt, step]);

/** What an attempt meets of those before it. */
export const earlierClaims = (sql: Sql, { organizationId, environment, answerId, attempt }: Attempt): Promise<ClaimedStep[]> =>
  sql<ClaimedStep>(`${untold} and ${ofAnswer} and s.attempt < $4`, [organizationId, environment, answerId, attempt]);

/** Claims that no attempt stands behind any more: another is at the answer, or it has ended. */
const orphanedClaims = (sql: Sql): Promise<ClaimedStep[]> =>
  sql<ClaimedStep>(
    `${untold} and not exists (
       select 1 from answers a where a.organization_id = s.organization_id and a.environment = s.environment and a.id = s.answer_id
         and a.attempt = s.attempt and a.state = 'running')
     order by s.claimed_at limit 1000`,
  );

const key = 'organization_id text, environment text, answer_id text, step integer, attempt integer';
// Written so that the index of all untold claims does not serve it: with that one a batch reads them all for each of its own.
const telling = `
  with ${itemsByKey(`${key}, id text, payload jsonb`)},
  told as (
    update answer_steps s set lost_at = $2 from items item
    where s.organization_id = item.organization_id and s.environment = item.environment and s.answer_id = item.answer_id
      and s.step = item.step and s.attempt = item.attempt and coalesce(s.finished_at, s.lost_at) is null
    returning item.id, item.payload)
  insert into outbox (id, topic, payload) select id, 'audit', payload from told returning 1`;

/** Says in the audit log that these changes may have been made, of each once whoever else says it. How many were said now. */
export async function tellLost(sql: Sql, claims: readonly ClaimedStep[], at: number): Promise<number> {
  if (claims.length === 0) return 0;
  const items = claims.map((claim) => ({
    organization_id: claim.organizationId,
    environment: claim.environment,
    answer_id: claim.answerId,
    step: claim.step,
    attempt: claim.attempt,
    ...entryOf(claim, { kind: 'unknown' }, at),
  }));
  return (await sql(telling, [JSON.stringify(items), new Date(at)])).length;
}

/** Says so of claims that nobody is left to finish. */
export const tellOrphaned = async (sql: Sql, at: number): Promise<number> => tellLost(sql, await orphanedClaims(sql), at);
