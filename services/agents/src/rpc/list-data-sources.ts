import { operators, type RpcOf } from '@agent-service/contracts';
import type { AgentsContext } from '../context.ts';
import { listDataSources as selectDataSources } from '../store/data-sources.ts';
import { toDataSource } from './data-source-message.ts';

export const listDataSources = ({ store, sources }: AgentsContext): RpcOf<'agents', 'listDataSources'> => ({
  allow: operators,
  async handle({ organizationId, environment }) {
    const rows = await selectDataSources(store.sql, organizationId, environment);
    return { dataSources: rows.map((row) => toDataSource(row, sources.open(row))) };
  },
});
