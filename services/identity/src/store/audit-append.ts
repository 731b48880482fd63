import { boundChangesJson, type Sql, type Store } from '@agent-service/store';
import { type AuditFacts, type AuditKeys, chainStart, entryHash, headMac, newestVersion } from '../domain/audit-chain.ts';

/** An entry on its way into the chain of its organization. */
export interface AuditRecord extends AuditFacts {
  readonly organizationId: string;
}

interface Chain {
  length: string;
  head: string;
  counts: Record<string, number>;
}

/** Appends entries to the chains of their organizations; an entry that is already there is passed over. */
export async function appendAudit(store: Store, keys: AuditKeys, records: readonly AuditRecord[]): Promise<void> {
  for (const [organizationId, group] of Map.groupBy(records, (record) => record.organizationId)) {
    await store.transaction(({ sql }) => appendToChain(sql, keys, organizationId, group));
  }
}

async function appendToChain(sql: Sql, keys: AuditKeys, organizationId: string, records: readonly AuditRecord[]): Promise<void> {
  const chain = await lockChain(sql, organizationId);
  const fresh = await withoutKnown(sql, organizationId, records);
  if (fresh.length === 0) return;
  const version = newestVersion(keys);
  let sequence = Number(chain.length);
  let head = chain.head;
  // Bounded where it is written too, but not by the versions before.
  const rows = fresh.map(({ changesJson, ...rest }) => {
    const record = { ...rest, changesJson: boundChangesJson(changesJson) };
    sequence += 1;
    head = entryHash(keys, version, head, { organizationId, sequence }, record) ?? '';
    chain.counts[record.environment] = (chain.counts[record.environment] ?? 0) + 1;
    return { ...record, sequence, hash: head, version };
  });
  await insert(sql, organizationId, rows);
  await sql('update audit_chains set length = $2, head = $3, counts = $4, key_version = $5, mac = $6 where organization_id = $1', [
    organizationId,
    sequence,
    head,
    JSON.stringify(chain.counts),
    version,
    headMac(keys, version, { organizationId, sequence, hash: head }),
  ]);
}

async function lockChain(sql: Sql, organizationId: string): Promise<Chain> {
  await sql('insert into audit_chains (organization_id, head) values ($1, $2) on conflict do nothing', [organizationId, chainStart]);
  const [chain] = await sql<Chain>('select length, head, counts from audit_chains where organization_id = $1 for update', [organizationId]);
  if (!chain) throw new Error(`the audit chain of ${organizationId} is gone`);
  return chain;
}

async function withoutKnown(sql: Sql, organizationId: string, records: readonly AuditRecord[]): Promise<AuditRecord[]> {
  const rows = await sql<{ id: string }>('select id from audit_entries where organization_id = $1 and id = any($2)', [
    organizationId,
    records.map((record) => record.id),
  ]);
  const known = new Set(rows.map((row) => row.id));
  return [...new Map(records.map((record) => [record.id, record])).values()].filter((record) => !known.has(record.id));
}

async function insert(
  sql: Sql,
  organizationId: string,
  rows: readonly (AuditRecord & { sequence: number; hash: string; version: number })[],
): Promise<void> {
  await sql(
    `insert into audit_entries (organization_id, sequence, id, environment, created_at, actor_type, actor_id, actor_key_id, action, target_type, target_id, outcome, request_id, changes_json, hash, key_version)
     select $1, sequence, id, environment, "createdAt", "actorType", "actorId", "actorKeyId", action, "targetType", "targetId", outcome, "requestId", "changesJson", hash, version
     from jsonb_to_recordset($2::jsonb) as entry(sequence bigint, id text, environment text, "createdAt" timestamptz, "actorType" text, "actorId" text, "actorKeyId" text,
       action text, "targetType" text, "targetId" text, outcome text, "requestId" text, "changesJson" text, hash text, version integer)`,
    [organizationId, JSON.stringify(rows)],
  );
}
