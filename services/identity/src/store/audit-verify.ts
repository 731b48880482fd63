import { isoTime, type Sql } from '@agent-service/store';
import { type AuditFacts, chainHash, chainStart } from '../domain/audit-chain.ts';

const pageSize = 1_000;

export interface ChainFault {
  organizationId: string;
  sequence: number;
  reason: string;
}

interface EntryRow extends AuditFacts {
  sequence: string;
  hash: string;
}

const columns = `sequence, hash, id, environment, created_at as "createdAt", actor_type as "actorType", actor_id as "actorId", actor_key_id as "actorKeyId", action,
  target_type as "targetType", target_id as "targetId", outcome, request_id as "requestId", changes_json as "changesJson"`;

/** Recomputes one organization's chain up to the head it had at the beginning, a page at a time. */
export async function verifyChain(sql: Sql, organizationId: string): Promise<{ entries: number; fault?: ChainFault }> {
  const [chain] = await sql<{ length: string; head: string }>('select length, head from audit_chains where organization_id = $1', [
    organizationId,
  ]);
  const length = Number(chain?.length ?? 0);
  let previous = chainStart;
  let sequence = 0;
  const fault = (reason: string) => ({ entries: sequence, fault: { organizationId, sequence: sequence + 1, reason } });
  while (sequence < length) {
    const rows = await sql<EntryRow>(
      `select ${columns} from audit_entries where organization_id = $1 and sequence > $2 and sequence <= $3 order by sequence limit ${pageSize}`,
      [organizationId, sequence, length],
    );
    if (rows.length === 0) return fault('the entry is missing');
    for (const row of rows) {
      if (Number(row.sequence) !== sequence + 1) return fault('the entry is missing');
      previous = chainHash(previous, organizationId, sequence + 1, { ...row, createdAt: isoTime(row.createdAt) });
      if (previous !== row.hash) return fault('the entry does not match its hash');
      sequence += 1;
    }
  }
  return previous === (chain?.head ?? chainStart) ? { entries: sequence } : fault('the last entry is not the head of the chain');
}

export async function auditedOrganizations(sql: Sql): Promise<string[]> {
  const rows = await sql<{ id: string }>('select organization_id as id from audit_chains order by organization_id');
  return rows.map((row) => row.id);
}
