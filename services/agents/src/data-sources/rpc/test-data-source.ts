import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { sourceFailure } from '../sources.ts';
import { findDataSource } from '../store/data-sources.ts';
import { tableNames, toDataSource, toRoleGate } from './data-source-message.ts';
import { namedTenant } from './data-source-tenant.ts';

export const testDataSource = ({ store, sources }: AgentsContext): RpcOf<'agents', 'testDataSource'> => ({
  allow: operators,
  async handle(request) {
    const tenant = namedTenant(request);
    const row = await findDataSource(store.sql, tenant);
    if (!row) throw new ServiceError('not_found', { message: 'No data source is connected here.' });
    const place = sources.open(row);
    const source = sources.source(tenant, place);
    try {
      const { version, durationMs } = await source.check();
      return {
        dataSource: toDataSource(row, place),
        serverVersion: version,
        durationMs: Math.round(durationMs),
        tables: tableNames(await source.catalog()),
        roleGate: toRoleGate(await source.roleGate()),
      };
    } catch (cause) {
      throw sourceFailure(cause);
    }
  },
});
