import { operators, type RpcOf } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { findDataSource, removeDataSource as remove } from '../store/data-sources.ts';
import { namedTenant } from './data-source-tenant.ts';

/** Removing what is not there changes nothing and is no mistake. */
export const removeDataSource = ({ store, sources, auditRelay, now }: AgentsContext): RpcOf<'agents', 'removeDataSource'> => ({
  allow: operators,
  async handle(request, call) {
    const tenant = namedTenant(request);
    const { before, removed } = await store.transaction(async ({ sql }) => {
      const found = await findDataSource(sql, tenant);
      const isRemoved = await remove(sql, tenant, now());
      if (isRemoved)
        await writeAudit(sql, call, { ...tenant, action: 'data_source.removed', target: { type: 'data_source', id: tenant.environment } });
      return { before: found, removed: isRemoved };
    });
    sources.forget(tenant);
    sources.leave(before);
    auditRelay.nudge();
    return { removed };
  },
});
