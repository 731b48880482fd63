import { operators, type RpcOf } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { type DataSourceRow, listDataSources as selectDataSources } from '../store/data-sources.ts';
import { toDataSource, toUnopened } from './data-source-message.ts';

export const listDataSources = ({ store, sources, logger }: AgentsContext): RpcOf<'agents', 'listDataSources'> => {
  /** One that can not be opened keeps nobody from seeing the others. */
  function shown(row: DataSourceRow) {
    try {
      return toDataSource(row, sources.open(row));
    } catch (cause) {
      const { organizationId, environment } = row;
      logger.warn({ event: 'data_source_unopened', organization_id: organizationId, environment, err: cause });
      return toUnopened(row);
    }
  }
  return {
    allow: operators,
    async handle({ organizationId, environment }) {
      const rows = await selectDataSources(store.sql, organizationId, environment);
      return { dataSources: rows.map(shown) };
    },
  };
};
