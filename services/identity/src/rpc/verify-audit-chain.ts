import { operators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { auditedOrganizations, type ChainFault, verifyChain } from '../store/audit-verify.ts';

export const verifyAuditChain = ({ store }: IdentityContext): RpcOf<'identity', 'verifyAuditChain'> => ({
  allow: operators,
  async handle({ organizationId }) {
    const organizations = organizationId ? [organizationId] : await auditedOrganizations(store.sql);
    const faults: ChainFault[] = [];
    let entries = 0;
    for (const organization of organizations) {
      const verified = await verifyChain(store.sql, organization);
      entries += verified.entries;
      if (verified.fault) faults.push(verified.fault);
    }
    return { organizations: organizations.length, entries, faults };
  },
});
