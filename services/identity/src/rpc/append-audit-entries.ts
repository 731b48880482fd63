import { type RpcOf, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { type AuditRecord, appendAudit } from '../store/audit-append.ts';

export const appendAuditEntries = ({ store }: IdentityContext): RpcOf<'identity', 'appendAuditEntries'> => ({
  allow: services('agents', 'templates', 'credits', 'webhooks'),
  async handle({ entries }) {
    const records = entries.map(
      (entry): AuditRecord => ({
        organizationId: entry.organizationId,
        environment: entry.environment,
        id: entry.id,
        createdAt: entry.createdAt,
        actorType: entry.actor?.type ?? '',
        actorId: entry.actor?.id ?? '',
        actorKeyId: entry.actor?.keyId ?? '',
        action: entry.action,
        targetType: entry.target?.type ?? '',
        targetId: entry.target?.id ?? '',
        outcome: entry.outcome,
        requestId: entry.requestId,
        changesJson: entry.changesJson,
      }),
    );
    await appendAudit(store, records);
    return {};
  },
});
