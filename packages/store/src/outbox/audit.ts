import { type Call, type Caller, type Client, newId, operatorService } from '@agent-service/contracts';
import { type ProcessContext, processClock } from '@agent-service/runtime';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import { boundChanges } from './audit-bounds.ts';
import { type OutboxMessage, writeOutbox } from './outbox.ts';
import { type Relay, startRelay } from './relay.ts';

interface AuditEvent {
  /** For example `user.created`. */
  action: string;
  target: { type: string; id: string };
  organizationId: string;
  /** Empty for an action on the organization as a whole. */
  environment: 'live' | 'test' | '';
  /** The changed values; the caller masks secrets and prompts. */
  changes?: Record<string, unknown>;
  /** Needed only if the call has no principal, as the request for a token. */
  actor?: Actor;
}

interface Actor {
  type: string;
  id: string;
  keyId: string;
}

/** An audit entry in the outbox: `writeAudit` writes it, and the relay to identity reads it. */
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

/** Builds an audit entry for an action outside of a call. */
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

/** Writes audit entries in the transaction of their effect; identity appends each to its organization's chain. */
export async function writeAudit(sql: Sql, call: Pick<Call, 'caller' | 'requestId'>, ...events: readonly AuditEvent[]): Promise<void> {
  const common = { outcome: 'success', requestId: call.requestId, at: processClock.now() };
  const entries = events.map((event) => auditMessage({ ...event, ...common, actor: event.actor ?? actorOf(call.caller) }));
  await writeOutbox(sql, 'audit', entries);
}

function actorOf({ service, principal }: Caller): Actor {
  if (principal?.userId) return { type: 'user', id: principal.userId, keyId: principal.credentialId };
  return { type: service === operatorService ? 'operator' : 'service', id: service, keyId: '' };
}

/** Sends audit entries to identity, which appends each id once. */
export function relayAudit(process: ProcessContext, store: Store, identity: Pick<Client<'identity'>, 'appendAuditEntries'>): Relay {
  return startRelay<AuditPayload>(process, store, {
    topic: 'audit',
    deliver: async (messages) => {
      await identity.appendAuditEntries({
        entries: messages.map(({ payload: { actorType, actorId, actorKeyId, targetType, targetId, ...entry } }) => ({
          ...entry,
          actor: { type: actorType, id: actorId, keyId: actorKeyId },
          target: { type: targetType, id: targetId },
        })),
      });
    },
  });
}
