import type { Store } from '@agent-service/store';
import { type AuditKeys, headMac, newestVersion } from '../domain/audit-chain.ts';

interface ChainRow {
  organizationId: string;
  length: string;
  head: string;
}

/** Signs the ends of the chains that there were before there were keys: from then on their old entries can not be replaced either. */
export async function signOldChains({ transaction }: Pick<Store, 'transaction'>, keys: AuditKeys): Promise<number> {
  let signed = 0;
  while (true) {
    const step = await transaction(async ({ sql }) => {
      const chains = await sql<ChainRow>(
        `select organization_id as "organizationId", length, head from audit_chains
         where organization_id in (select organization_id from audit_unsigned_chains order by organization_id limit 100)
         order by organization_id for update`,
      );
      const version = newestVersion(keys);
      const macs = chains.map(({ organizationId, length, head }) =>
        headMac(keys, version, { organizationId, sequence: Number(length), hash: head }),
      );
      const ids = chains.map(({ organizationId }) => organizationId);
      await sql(
        `update audit_chains set key_version = $3, mac = signed.mac from unnest($1::text[], $2::text[]) as signed (organization_id, mac)
         where audit_chains.organization_id = signed.organization_id and audit_chains.mac is null`,
        [ids, macs, version],
      );
      await sql('delete from audit_unsigned_chains where organization_id = any($1)', [ids]);
      return chains.length;
    });
    if (step === 0) return signed;
    signed += step;
  }
}
