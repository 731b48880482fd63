import { createHash, createHmac } from 'node:crypto';

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

/** Keys that the database does not hold, by version. The highest version signs, all verify. */
export type AuditKeys = ReadonlyMap<number, Buffer>;

/** The version of entries that were written before there were keys: a plain hash, which needs no key to recompute. */
export const unkeyedVersion = 0;

export const newestVersion = (keys: AuditKeys): number => Math.max(...keys.keys());

/** The hash before the first entry. */
export const chainStart = '0'.repeat(64);

/** The chain of entries that belong to no organization. */
export const serviceChain = 'service';

export interface ChainPosition {
  readonly organizationId: string;
  readonly sequence: number;
}

/** The hash of an entry covers the one before it. Undefined where the version's key is not configured. */
export function entryHash(
  keys: AuditKeys,
  version: number,
  previous: string,
  { organizationId, sequence }: ChainPosition,
  facts: AuditFacts,
): string | undefined {
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
  if (version === unkeyedVersion) return createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return mac(keys, version, ['entry', ...content]);
}

export interface ChainHead extends ChainPosition {
  /** The hash of the entry with this sequence, which is also the number of entries. */
  readonly hash: string;
  /** The first entry that was added after the chain before it had failed its signature. */
  readonly brokenFrom?: number | undefined;
}

/**
 * Signs the end of a chain, so that a shortened chain is noticed. The signature covers a break, so that a break cannot be removed without
 * the key. A head without a break is signed in the form of the version before breaks, which replicas of both versions verify.
 */
export const headMac = (keys: AuditKeys, version: number, { organizationId, sequence, hash, brokenFrom }: ChainHead): string | undefined =>
  mac(keys, version, ['head', organizationId, sequence, hash, ...(brokenFrom === undefined ? [] : ['broken', brokenFrom])]);

export interface Anchor extends ChainHead {
  readonly at: string;
}

/** Proves that this service has exported the anchor. */
export const anchorMac = (keys: AuditKeys, version: number, { organizationId, sequence, hash, at }: Anchor): string | undefined =>
  mac(keys, version, ['anchor', organizationId, sequence, hash, at]);

function mac(keys: AuditKeys, version: number, content: readonly unknown[]): string | undefined {
  const key = keys.get(version);
  return (
    key &&
    createHmac('sha256', key)
      .update(JSON.stringify([version, ...content]))
      .digest('hex')
  );
}
