import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { findDataSource } from '../store/data-sources.ts';
import { standingOf } from '../store/steps.ts';
import { attemptOf } from './attempt.ts';

/** Only who has an answer of the tenant in hand learns how to reach its data. */
export const getDataSource = ({ store, sources }: AgentsContext): RpcOf<'agents', 'getDataSource'> => ({
  allow: services('answer-worker'),
  async handle(request) {
    const { tenant, attempt } = attemptOf(request.answer);
    if (!(await standingOf(store.sql, attempt, false))) throw new ServiceError('attempt_superseded');
    const row = await findDataSource(store.sql, tenant);
    if (!row) throw new ServiceError('not_found', { message: 'No data source is connected.' });
    const { url, ca, allowSuperuser } = sources.open(row);
    return { url, caCertificate: ca, version: row.version, allowSuperuser };
  },
});
