import type { Sql, Store } from '@agent-service/store';
import { type AuditKeys, headMac, newestVersion } from '../domain/audit-chain.ts';

interface ChainRow {
  organizationId: string;
  length: string;
  head: string;
}

const pageSize = 1_000;

/**
 * Signs the ends of the chains from before there were keys, once in the life of a database: later, and where anything is signed with a key,
 * an unsigned chain is one whose signature was removed. In one transaction, so that a crash leaves no chain between the two states.
 */
export async function signOldChains({ transaction }: Pick<Store, 'transaction'>, keys: AuditKeys): Promise<number> {
  return transaction(async ({ sql }) => {
    // One replica decides, the others then find the record.
    await sql('lock table audit_unsigned_chains in share row exclusive mode');
    const [state] = await sql<{ started: boolean }>('select exists (select 1 from audit_key_start) as started');
    if (state?.started) return 0;
    const signed = (await hasKeyedRows(sql)) ? 0 : await signUnsigned(sql, keys);
    await sql('insert into audit_key_start default values');
    return signed;
  });
}

async function hasKeyedRows(sql: Sql): Promise<boolean> {
  const [chains] = await sql<{ keyed: boolean }>('select exists (select 1 from audit_chains where mac is not null) as keyed');
  if (chains?.keyed) return true;
  const [entries] = await sql<{ keyed: boolean }>('select exists (select 1 from audit_entries where key_version > 0) as keyed');
  return entries?.keyed ?? false;
}

async function signUnsigned(sql: Sql, keys: AuditKeys): Promise<number> {
  const version = newestVersion(keys);
  let signed = 0;
  while (true) {
    const chains = await sql<ChainRow>(
      `select organization_id as "organizationId", length, head from audit_chains
       where organization_id in (select organization_id from audit_unsigned_chains order by organization_id limit ${pageSize})
       order by organization_id for update`,
    );
    if (chains.length === 0) return signed;
    const ids = chains.map(({ organizationId }) => organizationId);
    const macs = chains.map(({ organizationId, length, head }) =>
      headMac(keys, version, { organizationId, sequence: Number(length), hash: head }),
    );
    await sql(
      `update audit_chains set key_version = $3, mac = signed.mac from unnest($1::text[], $2::text[]) as signed (organization_id, mac)
       where audit_chains.organization_id = signed.organization_id`,
      [ids, macs, version],
    );
    await sql('delete from audit_unsigned_chains where organization_id = any($1)', [ids]);
    signed += chains.length;
  }
}
