import { ServiceError } from '@agent-service/contracts';
import { boundChangesJson, type Sql, type Store } from '@agent-service/store';
import { type AuditFacts, type AuditKeys, chainStart, entryHash, headMac, newestVersion } from '../domain/audit-chain.ts';
import { isSameText } from '../domain/secrets.ts';

/** An entry for the chain of its organization. */
export interface AuditRecord extends AuditFacts {
  readonly organizationId: string;
}

interface Chain {
  length: string;
  head: string;
  counts: Record<string, number>;
  version: number | null;
  mac: string | null;
  brokenFrom: string | null;
}

/** The end to which entries are appended, and the first entry after a break. */
interface ChainEnd {
  readonly sequence: number;
  readonly hash: string;
  readonly brokenFrom: number | undefined;
}

/** Appends entries to the chains of their organizations; an entry that is stored already is skipped. */
export async function appendAudit(store: Store, keys: AuditKeys, records: readonly AuditRecord[]): Promise<void> {
  const groups = Map.groupBy(records, (record) => record.organizationId);
  const failures: unknown[] = [];
  // A chain that cannot be extended does not stop the chains of other organizations.
  for (const [organizationId, group] of groups)
    await store.transaction(({ sql }) => appendToChain(sql, keys, organizationId, group)).catch((cause: unknown) => failures.push(cause));
  if (failures.length > 0) throw failures[0];
}

const extendChainStatement =
  'update audit_chains set length = $2, head = $3, counts = $4, key_version = $5, mac = $6, broken_from = $7 where organization_id = $1';

async function appendToChain(sql: Sql, keys: AuditKeys, organizationId: string, records: readonly AuditRecord[]): Promise<void> {
  const chain = await lockChain(sql, organizationId);
  const { newest, known } = await findStored(sql, organizationId, records);
  const fresh = [...new Map(records.map((record) => [record.id, record])).values()].filter((record) => !known.has(record.id));
  if (fresh.length === 0) return;
  const end = await findEnd(sql, keys, chain, newest, fresh);
  const version = newestVersion(keys);
  let { sequence, hash } = end;
  // The writer bounds it as well, but earlier versions of writers did not.
  const rows = fresh.map(({ changesJson, ...rest }) => {
    const record = { ...rest, changesJson: boundChangesJson(changesJson) };
    sequence += 1;
    hash = entryHash(keys, version, hash, { organizationId, sequence }, record) ?? '';
    chain.counts[record.environment] = (chain.counts[record.environment] ?? 0) + 1;
    return { ...record, sequence, hash, version };
  });
  await insert(sql, organizationId, rows);
  await sql(extendChainStatement, [
    organizationId,
    sequence,
    hash,
    JSON.stringify(chain.counts),
    version,
    headMac(keys, version, { organizationId, sequence, hash, brokenFrom: end.brokenFrom }),
    end.brokenFrom ?? null,
  ]);
}

const openChainStatement = 'insert into audit_chains (organization_id, head) values ($1, $2) on conflict do nothing';

const lockChainStatement = `
  select length, head, counts, key_version as version, mac, broken_from as "brokenFrom"
  from audit_chains where organization_id = $1 for update`;

async function lockChain(sql: Sql, organizationId: string): Promise<Chain> {
  await sql(openChainStatement, [organizationId, chainStart]);
  const [chain] = await sql<Chain>(lockChainStatement, [organizationId]);
  if (!chain) throw new Error(`the audit chain of ${organizationId} is missing`);
  return chain;
}

/**
 * A head that fails its signature proves nothing about the entries before it. New entries follow the newest entry, and the signed head
 * records the position of the break, which `audit verify` reports from then on.
 */
async function findEnd(
  sql: Sql,
  keys: AuditKeys,
  chain: Chain,
  newest: Newest | undefined,
  fresh: readonly AuditRecord[],
): Promise<ChainEnd> {
  const brokenFrom = chain.brokenFrom === null ? undefined : Number(chain.brokenFrom);
  const end = { sequence: Number(chain.length), hash: chain.head, brokenFrom };
  if ((newest?.sequence ?? 0) === end.sequence && (await isProven(sql, keys, chain, end, fresh))) return end;
  const sequence = newest?.sequence ?? 0;
  return { sequence, hash: newest?.hash ?? chainStart, brokenFrom: sequence + 1 };
}

async function isProven(sql: Sql, keys: AuditKeys, chain: Chain, end: ChainEnd, fresh: readonly AuditRecord[]): Promise<boolean> {
  const organizationId = fresh[0]?.organizationId ?? '';
  if (chain.mac === null || chain.version === null) return end.sequence === 0 && (await isNew(sql, organizationId, fresh));
  const expected = headMac(keys, chain.version, { organizationId, ...end });
  // During a rolling update of AUDIT_KEYS another replica has the key, and the sender retries there.
  if (expected === undefined) throw new ServiceError('unavailable', { cause: new Error(`AUDIT_KEYS has no version ${chain.version}`) });
  return isSameText(expected, chain.mac);
}

const organizationAgeStatement = `select created_at < $2::timestamptz - interval '1 hour' as "isOld" from organizations where id = $1`;

/** A chain begins with its organization. A chain that begins more than an hour later replaces one that was removed. */
async function isNew(sql: Sql, organizationId: string, fresh: readonly AuditRecord[]): Promise<boolean> {
  const first = Math.min(...fresh.map(({ createdAt }) => Date.parse(createdAt)));
  const [row] = await sql<{ isOld: boolean }>(organizationAgeStatement, [organizationId, new Date(first).toISOString()]);
  return !row?.isOld;
}

interface Newest {
  readonly sequence: number;
  readonly hash: string;
}

interface Stored {
  newest: Newest | null;
  known: string[];
}

const findStoredStatement = `
  select array(select id from audit_entries where organization_id = $1 and id = any($2)) as known,
    (select json_build_object('sequence', sequence, 'hash', hash) from audit_entries where organization_id = $1
     order by sequence desc limit 1) as newest`;

/** Runs after the lock, so that it sees the entries of the previous transaction. */
async function findStored(
  sql: Sql,
  organizationId: string,
  records: readonly AuditRecord[],
): Promise<{ newest: Newest | undefined; known: ReadonlySet<string> }> {
  const [row] = await sql<Stored>(findStoredStatement, [organizationId, records.map((record) => record.id)]);
  return { newest: row?.newest ?? undefined, known: new Set(row?.known) };
}

const insertEntriesStatement = `
  insert into audit_entries (organization_id, sequence, id, environment, created_at, actor_type, actor_id, actor_key_id, action, target_type, target_id, outcome, request_id, changes_json, hash, key_version)
  select $1, sequence, id, environment, "createdAt", "actorType", "actorId", "actorKeyId", action, "targetType", "targetId", outcome, "requestId", "changesJson", hash, version
  from jsonb_to_recordset($2::jsonb) as entry(sequence bigint, id text, environment text, "createdAt" timestamptz, "actorType" text, "actorId" text, "actorKeyId" text,
    action text, "targetType" text, "targetId" text, outcome text, "requestId" text, "changesJson" text, hash text, version integer)`;

async function insert(
  sql: Sql,
  organizationId: string,
  rows: readonly (AuditRecord & { sequence: number; hash: string; version: number })[],
): Promise<void> {
  await sql(insertEntriesStatement, [organizationId, JSON.stringify(rows)]);
}

interface ChainRow {
  organizationId: string;
  length: string;
  head: string;
}

const pageSize = 1_000;

const haveKeysStartedStatement = 'select exists (select 1 from audit_key_start) as started';

const startKeysStatement = 'insert into audit_key_start default values';

/**
 * Signs the ends of chains that were begun before there were keys. Runs once in the life of a database: afterwards, and where anything is
 * signed with a key, the signature of an unsigned chain was removed. One transaction, so that a crash leaves no chain between the two states.
 */
export async function signOldChains({ transaction }: Pick<Store, 'transaction'>, keys: AuditKeys): Promise<void> {
  await transaction(async ({ sql }) => {
    // One replica decides, the others then find the record.
    await sql('lock table audit_unsigned_chains in share row exclusive mode');
    const [state] = await sql<{ started: boolean }>(haveKeysStartedStatement);
    if (state?.started) return;
    if (!(await hasKeyedRows(sql))) await signUnsigned(sql, keys);
    await sql(startKeysStatement);
  });
}

const hasKeyedChainStatement = 'select exists (select 1 from audit_chains where mac is not null) as keyed';

const hasKeyedEntryStatement = 'select exists (select 1 from audit_entries where key_version > 0) as keyed';

async function hasKeyedRows(sql: Sql): Promise<boolean> {
  const [chains] = await sql<{ keyed: boolean }>(hasKeyedChainStatement);
  if (chains?.keyed) return true;
  const [entries] = await sql<{ keyed: boolean }>(hasKeyedEntryStatement);
  return entries?.keyed ?? false;
}

const lockUnsignedStatement = `
  select organization_id as "organizationId", length, head from audit_chains
  where organization_id in (select organization_id from audit_unsigned_chains order by organization_id limit ${pageSize})
  order by organization_id for update`;

const signChainsStatement = `
  update audit_chains set key_version = $3, mac = signed.mac from unnest($1::text[], $2::text[]) as signed (organization_id, mac)
  where audit_chains.organization_id = signed.organization_id`;

const forgetUnsignedStatement = 'delete from audit_unsigned_chains where organization_id = any($1)';

async function signUnsigned(sql: Sql, keys: AuditKeys): Promise<void> {
  const version = newestVersion(keys);
  while (true) {
    const chains = await sql<ChainRow>(lockUnsignedStatement);
    if (chains.length === 0) return;
    const ids = chains.map(({ organizationId }) => organizationId);
    const macs = chains.map(({ organizationId, length, head }) =>
      headMac(keys, version, { organizationId, sequence: Number(length), hash: head }),
    );
    await sql(signChainsStatement, [ids, macs, version]);
    await sql(forgetUnsignedStatement, [ids]);
  }
}

export const auditAppendStatements = {
  extendChain: extendChainStatement,
  openChain: openChainStatement,
  lockChain: lockChainStatement,
  organizationAge: organizationAgeStatement,
  findStored: findStoredStatement,
  insertEntries: insertEntriesStatement,
  haveKeysStarted: haveKeysStartedStatement,
  startKeys: startKeysStatement,
  hasKeyedChain: hasKeyedChainStatement,
  hasKeyedEntry: hasKeyedEntryStatement,
  lockUnsigned: lockUnsignedStatement,
  signChains: signChainsStatement,
  forgetUnsigned: forgetUnsignedStatement,
};
