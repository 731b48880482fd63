import type { Sql } from '@agent-service/store';
import { type Anchor, type AuditKeys, anchorMac, headMac, isSameMac, newestVersion } from '../domain/audit-chain.ts';
import type { ChainFault } from './audit-verify.ts';

export interface SignedAnchor extends Anchor {
  readonly keyVersion: number;
  readonly mac: string;
}

interface ChainRow {
  organizationId: string;
  sequence: string;
  hash: string;
  version: number | null;
  brokenFrom: string | null;
  mac: string | null;
  at: Date | string;
}

export interface AnchorPage {
  readonly anchors: SignedAnchor[];
  /** Chains whose end can not be trusted get no anchor. */
  readonly faults: ChainFault[];
  /** The last organization of the page; empty for the last page. */
  readonly after: string;
}

const mostAnchors = 200;

/** The ends of the chains, signed, by organization from the one after `after` on, or of one organization alone. */
export async function listAnchors(sql: Sql, keys: AuditKeys, organizationId: string, after: string): Promise<AnchorPage> {
  const rows = await sql<ChainRow>(
    `select organization_id as "organizationId", length as sequence, head as hash, key_version as version, broken_from as "brokenFrom", mac, now() as at
     from audit_chains where organization_id > $1 and ($2 = '' or organization_id = $2) order by organization_id limit ${mostAnchors}`,
    [after, organizationId],
  );
  const results = rows.map((row) => anchorOf(keys, row));
  const last = rows.length === mostAnchors ? rows.at(-1) : undefined;
  return {
    anchors: results.flatMap((result) => ('mac' in result ? result : [])),
    faults: results.flatMap((result) => ('mac' in result ? [] : result)),
    after: last?.organizationId ?? '',
  };
}

function anchorOf(keys: AuditKeys, { version, mac, brokenFrom: broken, ...row }: ChainRow): SignedAnchor | ChainFault {
  const { organizationId, hash } = row;
  const sequence = Number(row.sequence);
  const brokenFrom = broken === null ? undefined : Number(broken);
  const expected = version === null ? undefined : headMac(keys, version, { organizationId, sequence, hash, brokenFrom });
  if (expected === undefined || mac === null || !isSameMac(expected, mac))
    return { organizationId, sequence, reason: 'the head of the chain does not match its signature' };
  const anchor = { organizationId, sequence, hash, at: new Date(row.at).toISOString() };
  const keyVersion = newestVersion(keys);
  return { ...anchor, keyVersion, mac: anchorMac(keys, keyVersion, anchor) ?? '' };
}

/** Names the anchors that this service has not signed, and those that the chains do not contain. */
export async function checkAnchors(sql: Sql, keys: AuditKeys, anchors: readonly SignedAnchor[]): Promise<ChainFault[]> {
  const rows = await sql<{ organizationId: string; sequence: string; hash: string }>(
    `select entry.organization_id as "organizationId", entry.sequence, entry.hash
     from unnest($1::text[], $2::bigint[]) as anchor (organization_id, sequence)
     join audit_entries as entry on entry.organization_id = anchor.organization_id and entry.sequence = anchor.sequence`,
    [anchors.map(({ organizationId }) => organizationId), anchors.map(({ sequence }) => sequence)],
  );
  const hashes = new Map(rows.map(({ organizationId, sequence, hash }) => [`${organizationId} ${sequence}`, hash]));
  return anchors.flatMap(({ keyVersion, mac, ...anchor }) => {
    const { organizationId, sequence, hash } = anchor;
    const expected = anchorMac(keys, keyVersion, anchor);
    const stored = hashes.get(`${organizationId} ${sequence}`);
    const fault = (reason: string) => [{ organizationId, sequence, reason }];
    if (expected === undefined) return fault(`AUDIT_KEYS has no version ${keyVersion}`);
    if (!isSameMac(expected, mac)) return fault('the anchor does not match its signature');
    if (stored === undefined) return fault('the entry of the anchor is missing');
    return stored === hash ? [] : fault('the chain does not contain the anchor');
  });
}
