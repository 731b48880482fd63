import { auditMessage, type OutboxMessage, type Sql, writeOutbox } from '@agent-service/store';
import type { AuditPayload } from '@agent-service/store/audit';
import type { ClaimedStep } from './step-claim.ts';

/** What the audit log says of a change: it was claimed, and then what became of it. */
export type StepEvent =
  | { readonly kind: 'started' | 'undone' | 'unknown' }
  | {
      readonly kind: 'changed';
      /** How many were. */
      readonly rows: number;
    };

const said = {
  started: { action: 'business_data.change_started', outcome: 'success' },
  changed: { action: 'business_data.changed', outcome: 'success' },
  undone: { action: 'business_data.change_undone', outcome: 'failure' },
  unknown: { action: 'business_data.change_unknown', outcome: 'unknown' },
} as const satisfies Record<StepEvent['kind'], Pick<AuditPayload, 'action' | 'outcome'>>;

/** An entry in the name of whoever asked for the answer. Of the data it names the rows by their keys, and only those that may have changed. */
export const entryOf = (claim: ClaimedStep, event: StepEvent, at: number): OutboxMessage<AuditPayload> =>
  auditMessage({
    organizationId: claim.organizationId,
    environment: claim.environment,
    actor: actorOf(claim),
    ...said[event.kind],
    target: { type: 'answer', id: claim.answerId },
    requestId: claim.requestId,
    changes: changesOf(claim, event),
    at,
  });

/** In the transaction of what it tells of. */
export const writeEntry = (sql: Sql, claim: ClaimedStep, event: StepEvent, at: number): Promise<void> =>
  writeOutbox(sql, 'audit', [entryOf(claim, event, at)]);

/** A claim of the version before does not know its user. */
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
