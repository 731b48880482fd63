import { auditMessage, type OutboxMessage, type Sql, type Store, writeOutbox } from '@agent-service/store';
import type { AuditPayload } from '@agent-service/store/outbox/audit';
import type { AttemptKey } from '../../shared/answer.ts';
import { type ClaimedStep, claimColumns } from './steps.ts';

/** The audit log reports that a change was claimed, and later its outcome. */
export type StepEvent =
  | { readonly kind: 'started' | 'undone' | 'unknown' }
  | {
      readonly kind: 'changed';
      /** The number of changed rows. */
      readonly rows: number;
    };

const entryKinds = {
  started: { action: 'business_data.change_started', outcome: 'success' },
  changed: { action: 'business_data.changed', outcome: 'success' },
  undone: { action: 'business_data.change_undone', outcome: 'failure' },
  unknown: { action: 'business_data.change_unknown', outcome: 'unknown' },
} as const satisfies Record<StepEvent['kind'], Pick<AuditPayload, 'action' | 'outcome'>>;

/** The actor is the caller of the answer. The entry contains the keys of rows that may have changed, and no other data. */
const toEntry = (claim: ClaimedStep, event: StepEvent, at: number): OutboxMessage<AuditPayload> =>
  auditMessage({
    organizationId: claim.organizationId,
    environment: claim.environment,
    actor: actorOf(claim),
    ...entryKinds[event.kind],
    target: { type: 'answer', id: claim.answerId },
    requestId: claim.requestId,
    changes: changesOf(claim, event),
    at,
  });

export const writeStepEntry = (sql: Sql, claim: ClaimedStep, event: StepEvent, at: number): Promise<void> =>
  writeOutbox(sql, 'audit', [toEntry(claim, event, at)]);

/** Claims of version 0003 have no user. */
const actorOf = ({ userId }: ClaimedStep) =>
  userId === '' ? { type: 'service', id: 'answer-worker', keyId: '' } : { type: 'user', id: userId, keyId: '' };

function changesOf(claim: ClaimedStep, event: StepEvent): Record<string, unknown> {
  const { agentId, conversationId, step, attempt, description, table, operation, askedRows, keysJson } = claim;
  return {
    change: description,
    table,
    operation,
    rows: event.kind === 'changed' ? event.rows : event.kind === 'undone' ? 0 : askedRows,
    ...((event.kind === 'changed' || event.kind === 'unknown') && keysOf(keysJson)),
    agent_id: agentId,
    conversation_id: conversationId,
    step,
    attempt,
  };
}

/** Keys that cannot be read are left out: entries are written by page, and one row must not keep the others from the log. */
function keysOf(json: string): { keys?: unknown; keys_unreadable?: true } {
  if (json === '') return {};
  try {
    return { keys: JSON.parse(json) };
  } catch {
    return { keys_unreadable: true };
  }
}

/** Claims that were not finished, and whose outcome the audit log has not reported as unknown yet. */
const unreported = `select ${claimColumns} from answer_steps s where s.finished_at is null and s.lost_at is null`;
const ofAnswer = 's.organization_id = $1 and s.environment = $2 and s.answer_id = $3';

const lostClaim = `${unreported} and ${ofAnswer} and s.attempt = $4 and s.step = $5`;
const earlierClaims = `${unreported} and ${ofAnswer} and s.attempt < $4`;
const orphanedClaims = `${unreported} and not exists (
    select 1 from answers a where a.organization_id = s.organization_id and a.environment = s.environment and a.id = s.answer_id
      and a.attempt = s.attempt and a.state = 'running')
  order by s.claimed_at limit 1000 for update of s skip locked`;

/** The claim of a step whose worker does not know the outcome. */
export const findLostClaim = (
  sql: Sql,
  { organizationId, environment, id, attempt, step }: AttemptKey & { readonly step: number },
): Promise<ClaimedStep[]> => sql<ClaimedStep>(lostClaim, [organizationId, environment, id, attempt, step]);

export const findEarlierClaims = (sql: Sql, { organizationId, environment, id, attempt }: AttemptKey): Promise<ClaimedStep[]> =>
  sql<ClaimedStep>(earlierClaims, [organizationId, environment, id, attempt]);

// The conditions are written so that the planner looks claims up by key: by the index of unreported claims a batch would read them all for
// each of its items.
const reportLost = `
  with items as materialized (
    select * from json_to_recordset($1::json) as item(
      organization_id text, environment text, answer_id text, step integer, attempt integer, id text, payload jsonb)
    where (organization_id, environment) is not distinct from (organization_id, environment)),
  reported as (
    update answer_steps s set lost_at = $2 from items item
    where s.organization_id = item.organization_id and s.environment = item.environment and s.answer_id = item.answer_id
      and s.step = item.step and s.attempt = item.attempt and coalesce(s.finished_at, s.lost_at) is null
    returning item.id, item.payload)
  insert into outbox (id, topic, payload) select id, 'audit', payload from reported returning 1`;

/** Reports once that these changes may have been made. Returns the number of new reports. */
export async function reportLostClaims(sql: Sql, claims: readonly ClaimedStep[], at: number): Promise<number> {
  if (claims.length === 0) return 0;
  const items = claims.map((claim) => ({
    organization_id: claim.organizationId,
    environment: claim.environment,
    answer_id: claim.answerId,
    step: claim.step,
    attempt: claim.attempt,
    ...toEntry(claim, { kind: 'unknown' }, at),
  }));
  return (await sql(reportLost, [JSON.stringify(items), new Date(at)])).length;
}

/** Reports claims whose attempt has ended or was superseded. Claims that another session has locked are left to the next sweep. */
export const reportOrphanedClaims = (store: Pick<Store, 'transaction'>, at: number): Promise<number> =>
  store.transaction(async ({ sql }) => reportLostClaims(sql, await sql<ClaimedStep>(orphanedClaims), at));

export const stepAuditStatements = { lostClaim, earlierClaims, orphanedClaims, reportLost };
