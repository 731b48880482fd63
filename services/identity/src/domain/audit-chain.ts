import { createHash } from 'node:crypto';

export interface AuditFacts {
  readonly id: string;
  readonly createdAt: string;
  readonly environment: string;
  readonly actorType: string;
  readonly actorId: string;
  readonly actorKeyId: string;
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  readonly outcome: string;
  readonly requestId: string;
  readonly changesJson: string;
}

/** The hash before the first entry. */
export const chainStart = '0'.repeat(64);

/** The hash of an entry covers the one before it, so that no entry can be changed, removed or inserted unseen. */
export function chainHash(previous: string, organizationId: string, sequence: number, facts: AuditFacts): string {
  const content = [
    previous,
    organizationId,
    sequence,
    facts.id,
    facts.createdAt,
    facts.environment,
    facts.actorType,
    facts.actorId,
    facts.actorKeyId,
    facts.action,
    facts.targetType,
    facts.targetId,
    facts.outcome,
    facts.requestId,
    facts.changesJson,
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
