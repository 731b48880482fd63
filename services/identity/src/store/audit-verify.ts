import { isoTime, type Sql } from '@agent-service/store';
import {
  type Anchor,
  type AuditFacts,
  type AuditKeys,
  anchorMac,
  chainStart,
  entryHash,
  headMac,
  newestVersion,
  unkeyedVersion,
} from '../domain/audit-chain.ts';
import { isSameText } from '../domain/secrets.ts';

const pageSize = 200;

export interface ChainFault {
  organizationId: string;
  sequence: number;
  reason: string;
}

/** The progress of verifying one chain; small enough for a cursor. */
export interface ChainWalk {
  readonly organizationId: string;
  /** The last verified entry; `previous` is its hash and `version` the version of its key. */
  readonly sequence: number;
  readonly previous: string;
  readonly version: number;
  /** The end that the chain had when the walk began. */
  readonly length: number;
  readonly head: string;
  /** The fault of that end; empty if there is none. */
  readonly headFault: string;
  /** The entry that the fault is reported at. */
  readonly headFaultAt: number;
}

interface HeadRow {
  length: string | null;
  head: string | null;
  version: number | null;
  brokenFrom: string | null;
  mac: string | null;
  newest: string | null;
  isOld: boolean;
}

// One statement, so that the chain and its newest entry come from one snapshot.
const headStatement = `
  select chain.length, chain.head, chain.key_version as version, chain.broken_from as "brokenFrom", chain.mac,
    (select max(sequence) from audit_entries where organization_id = $1) as newest,
    exists (select 1 from organizations where id = $1 and created_at < now() - interval '1 hour') as "isOld"
  from (select $1::text as id) as organization left join audit_chains as chain on chain.organization_id = organization.id`;

/** Begins at the first entry; undefined where the organization has no chain and needs none yet. */
export async function beginWalk(sql: Sql, keys: AuditKeys, organizationId: string): Promise<ChainWalk | undefined> {
  const [row] = await sql<HeadRow>(headStatement, [organizationId]);
  if (!row || (row.length === null && row.newest === null && !row.isOld)) return undefined;
  const head = { length: Number(row.length ?? 0), head: row.head ?? chainStart };
  const fault = headFaultOf(keys, organizationId, row);
  const breakFault = row.brokenFrom === null ? '' : 'the chain before this entry did not match its signature when the entry was added';
  const headFaultAt = fault === '' && breakFault !== '' ? Number(row.brokenFrom) : head.length + 1;
  const walk = { organizationId, sequence: 0, previous: chainStart, version: unkeyedVersion, ...head };
  return { ...walk, headFault: fault || breakFault, headFaultAt };
}

function headFaultOf(keys: AuditKeys, organizationId: string, { length, head, version, mac, newest, brokenFrom }: HeadRow): string {
  if (length === null || head === null) return 'the chain is missing';
  if (version === null || mac === null) return 'the head of the chain is not signed';
  if (!keys.has(version)) return `AUDIT_KEYS has no version ${version}`;
  if (!isHeadSigned(keys, { organizationId, sequence: length, hash: head, version, brokenFrom, mac }))
    return 'the head of the chain does not match its signature';
  return Number(newest ?? 0) === Number(length) ? '' : 'the chain does not end with its newest entry';
}

interface EntryRow extends AuditFacts {
  sequence: string;
  hash: string;
  version: number;
}

const page = `
  select sequence, hash, key_version as version, id, environment, created_at as "createdAt", actor_type as "actorType", actor_id as "actorId",
    actor_key_id as "actorKeyId", action, target_type as "targetType", target_id as "targetId", outcome, request_id as "requestId",
    changes_json as "changesJson"
  from audit_entries where organization_id = $1 and sequence > $2 and sequence <= $3 order by sequence limit ${pageSize}`;

export interface WalkStep {
  readonly walk: ChainWalk;
  readonly isDone: boolean;
  readonly fault?: ChainFault;
}

/** Recomputes the next page of a chain, up to the end that it had when the walk began. */
export async function stepWalk(sql: Sql, keys: AuditKeys, start: ChainWalk): Promise<WalkStep> {
  const { organizationId, length } = start;
  const rows = await sql<EntryRow>(page, [organizationId, start.sequence, length]);
  let walk = start;
  for (const row of rows) {
    const reason = entryFault(keys, walk, row);
    if (reason) return { walk, isDone: true, fault: { organizationId, sequence: walk.sequence + 1, reason } };
    walk = { ...walk, sequence: walk.sequence + 1, previous: row.hash, version: row.version };
  }
  if (walk.sequence < length && rows.length > 0) return { walk, isDone: false };
  const fault = (sequence: number, reason: string) => ({ walk, isDone: true, fault: { organizationId, sequence, reason } });
  if (walk.sequence < length) return fault(walk.sequence + 1, 'the entry is missing');
  if (walk.previous !== walk.head) return fault(length + 1, 'the last entry is not the head of the chain');
  return walk.headFault ? fault(walk.headFaultAt, walk.headFault) : { walk, isDone: true };
}

function entryFault(keys: AuditKeys, { organizationId, sequence, previous, version }: ChainWalk, row: EntryRow): string {
  if (Number(row.sequence) !== sequence + 1) return 'the entry is missing';
  if (row.version === unkeyedVersion && version !== unkeyedVersion) return 'an entry without a key follows one with a key';
  const facts = { ...row, createdAt: isoTime(row.createdAt) };
  const expected = entryHash(keys, row.version, previous, { organizationId, sequence: sequence + 1 }, facts);
  if (expected === undefined) return `AUDIT_KEYS has no version ${row.version}`;
  return isSameText(expected, row.hash) ? '' : 'the entry does not match its hash';
}

const nextOrganizationStatement = `
  select min(id) as id from (
    (select organization_id as id from audit_chains where organization_id > $1 order by organization_id limit 1) union all
    (select organization_id from audit_entries where organization_id > $1 order by organization_id limit 1) union all
    (select id from organizations where id > $1 order by id limit 1)) as next`;

/** The next organization that has entries, a chain, or existed long enough to need one; found by one step into each index. */
export async function nextOrganization(sql: Sql, after: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string | null }>(nextOrganizationStatement, [after]);
  return row?.id ?? undefined;
}

const isAppendOnlyStatement = `
  select not pg_has_role(current_user, relowner, 'member') and not has_table_privilege(oid, 'update, delete, truncate, trigger') as separated
  from pg_class where oid = 'audit_entries'::regclass`;

/** True if the role of this process can only read and add entries, so that this process cannot change the log. */
export async function isAppendOnly(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ separated: boolean }>(isAppendOnlyStatement);
  return row?.separated ?? false;
}

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
  /** Chains whose end cannot be trusted get no anchor. */
  readonly faults: ChainFault[];
  /** The last organization of the page; empty for the last page. */
  readonly after: string;
}

const maxAnchors = 200;

const listAnchorsStatement = `
  select organization_id as "organizationId", length as sequence, head as hash, key_version as version, broken_from as "brokenFrom", mac, now() as at
  from audit_chains where organization_id > $1 and ($2 = '' or organization_id = $2) order by organization_id limit ${maxAnchors}`;

/** Signs the ends of the chains in the order of organizations, from the one after `after`, or of one organization alone. */
export async function listAnchors(sql: Sql, keys: AuditKeys, organizationId: string, after: string): Promise<AnchorPage> {
  const rows = await sql<ChainRow>(listAnchorsStatement, [after, organizationId]);
  const results = rows.map((row) => anchorOf(keys, row));
  const last = rows.length === maxAnchors ? rows.at(-1) : undefined;
  return {
    anchors: results.flatMap((result) => ('mac' in result ? result : [])),
    faults: results.flatMap((result) => ('mac' in result ? [] : result)),
    after: last?.organizationId ?? '',
  };
}

function isHeadSigned(keys: AuditKeys, { organizationId, sequence, hash, version, brokenFrom, mac }: Omit<ChainRow, 'at'>): boolean {
  const head = { organizationId, sequence: Number(sequence), hash, brokenFrom: brokenFrom === null ? undefined : Number(brokenFrom) };
  const expected = version === null ? undefined : headMac(keys, version, head);
  return expected !== undefined && mac !== null && isSameText(expected, mac);
}

const maxNewestHeads = 20;

const newestHeadsStatement = `
  select organization_id as "organizationId", length as sequence, head as hash, key_version as version, broken_from as "brokenFrom", mac
  from audit_chains where mac is not null order by organization_id desc limit ${maxNewestHeads}`;

/**
 * True if these keys make the signature of none of the newest chains: they are the wrong keys, and each entry under them would break a chain
 * for ever. False where a later key was added, which is how the log goes on after the loss of a key.
 */
export async function isSignedWithOtherKeys(sql: Sql, keys: AuditKeys): Promise<boolean> {
  const heads = await sql<Omit<ChainRow, 'at'>>(newestHeadsStatement);
  if (heads.some((head) => isHeadSigned(keys, head) || !keys.has(head.version ?? unkeyedVersion))) return false;
  return heads.some(({ version }) => version === newestVersion(keys));
}

function anchorOf(keys: AuditKeys, row: ChainRow): SignedAnchor | ChainFault {
  const { organizationId, hash } = row;
  const sequence = Number(row.sequence);
  if (!isHeadSigned(keys, row)) return { organizationId, sequence, reason: 'the head of the chain does not match its signature' };
  const anchor = { organizationId, sequence, hash, at: new Date(row.at).toISOString() };
  const keyVersion = newestVersion(keys);
  return { ...anchor, keyVersion, mac: anchorMac(keys, keyVersion, anchor) ?? '' };
}

const checkAnchorsStatement = `
  select entry.organization_id as "organizationId", entry.sequence, entry.hash
  from unnest($1::text[], $2::bigint[]) as anchor (organization_id, sequence)
  join audit_entries as entry on entry.organization_id = anchor.organization_id and entry.sequence = anchor.sequence`;

/** Finds the anchors that this service has not signed, and those that the chains do not contain. */
export async function checkAnchors(sql: Sql, keys: AuditKeys, anchors: readonly SignedAnchor[]): Promise<ChainFault[]> {
  const rows = await sql<{ organizationId: string; sequence: string; hash: string }>(checkAnchorsStatement, [
    anchors.map(({ organizationId }) => organizationId),
    anchors.map(({ sequence }) => sequence),
  ]);
  const hashes = new Map(rows.map(({ organizationId, sequence, hash }) => [`${organizationId} ${sequence}`, hash]));
  return anchors.flatMap(({ keyVersion, mac, ...anchor }) => {
    const { organizationId, sequence, hash } = anchor;
    const expected = anchorMac(keys, keyVersion, anchor);
    const stored = hashes.get(`${organizationId} ${sequence}`);
    const fault = (reason: string) => [{ organizationId, sequence, reason }];
    if (expected === undefined) return fault(`AUDIT_KEYS has no version ${keyVersion}`);
    if (!isSameText(expected, mac)) return fault('the anchor does not match its signature');
    if (stored === undefined) return fault('the entry of the anchor is missing');
    return stored === hash ? [] : fault('the chain does not contain the anchor');
  });
}

export const auditVerifyStatements = {
  head: headStatement,
  page,
  nextOrganization: nextOrganizationStatement,
  isAppendOnly: isAppendOnlyStatement,
  listAnchors: listAnchorsStatement,
  checkAnchors: checkAnchorsStatement,
};
