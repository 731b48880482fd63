import { type Call, type Caller, newId, operatorService } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { boundChanges } from './audit-bounds.ts';
import { type OutboxMessage, writeOutbox } from './outbox.ts';
import type { Sql } from './sql.ts';

interface AuditEvent {
  /** What was done, as `user.created`. */
  action: string;
  target: { type: string; id: string };
  organizationId: string;
  /** Empty for what belongs to the organization as a whole. */
  environment: 'live' | 'test' | '';
  /** What changed, with secrets and prompts already masked. */
  changes?: Record<string, unknown>;
  /** Who did it, where the call itself does not say (a token is asked for before anyone is authenticated). */
  actor?: Actor;
}

interface Actor {
  type: string;
  id: string;
  keyId: string;
}

/** An entry as `writeAudit` leaves it in the outbox; whoever relays it to identity reads it by this type. */
export interface AuditPayload {
  id: string;
  createdAt: string;
  organizationId: string;
  environment: string;
  actorType: string;
  actorId: string;
  actorKeyId: string;
  action: string;
  targetType: string;
  targetId: string;
  outcome: string;
  requestId: string;
  changesJson: string;
}

interface AuditEntry extends AuditEvent {
  actor: Actor;
  outcome: string;
  requestId: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** An entry for the outbox, of whatever happened outside of a call that tells who acts. */
export function auditMessage({ actor, target, changes = {}, at, ...rest }: AuditEntry): OutboxMessage<AuditPayload> {
  const id = newId('aud');
  const payload: AuditPayload = {
    id,
    createdAt: new Date(at).toISOString(),
    organizationId: rest.organizationId,
    environment: rest.environment,
    actorType: actor.type,
    actorId: actor.id,
    actorKeyId: actor.keyId,
    action: rest.action,
    targetType: target.type,
    targetId: target.id,
    outcome: rest.outcome,
    requestId: rest.requestId,
    changesJson: boundChanges(changes),
  };
  return { id, payload };
}

/** Leaves an audit entry in the same transaction as the effect; identity appends it to the organization's chain. */
export async function writeAudit(sql: Sql, call: Call, event: AuditEvent): Promise<void> {
  const actor = event.actor ?? actorOf(call.caller);
  const entry = auditMessage({ ...event, actor, outcome: 'success', requestId: call.requestId, at: processClock.now() });
  await writeOutbox(sql, 'audit', [entry]);
}

function actorOf({ service, principal }: Caller): Actor {
  if (principal?.userId) return { type: 'user', id: principal.userId, keyId: principal.credentialId };
  return { type: service === operatorService ? 'operator' : 'service', id: service, keyId: '' };
}
