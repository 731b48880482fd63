import { operators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { listAnchors } from '../store/audit-anchors.ts';

export const listAuditAnchors = ({ store, auditKeys }: IdentityContext): RpcOf<'identity', 'listAuditAnchors'> => ({
  allow: operators,
  async handle({ organizationId, after }) {
    const { after: nextAfter, ...page } = await listAnchors(store.sql, auditKeys, organizationId, after);
    return { ...page, nextAfter };
  },
});
