import type { Client } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import type { AuditPayload } from './audit.ts';
import { type Relay, startRelay } from './relay.ts';
import type { Store } from './store.ts';

/** Carries audit entries to identity, which appends each id once. */
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
