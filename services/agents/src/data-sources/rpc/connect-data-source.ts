import { X509Certificate } from 'node:crypto';
import { createDataSource, type DataSourceConnection, toDataSourceSettings } from '@agent-service/business-data';
import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { sourceFailure } from '../sources.ts';
import { findDataSource, saveDataSource } from '../store/data-sources.ts';
import { tableNames, toDataSource, toRoleGate } from './data-source-message.ts';
import { namedTenant } from './data-source-tenant.ts';

export const connectDataSource = ({ store, sources, auditRelay, logger, now }: AgentsContext): RpcOf<'agents', 'connectDataSource'> => ({
  allow: operators,
  async handle(request, call) {
    const tenant = namedTenant(request);
    const place = { url: request.url, ca: certificate(request.caCertificate), allowSuperuser: request.allowSuperuser };
    const { tables, roleGate } = await lookInto(place, (cause) => logger.warn({ event: 'data_source_connection_lost', err: cause }));
    const { row, before } = await store.transaction(async ({ sql }) => {
      const replaced = await findDataSource(sql, tenant);
      const saved = await saveDataSource(sql, tenant, sources.seal(tenant, place), now());
      const { host, port, database, user, tls } = toDataSource(saved, place);
      await writeAudit(sql, call, {
        ...tenant,
        action: 'data_source.connected',
        target: { type: 'data_source', id: `${host}:${port}/${database}` },
        changes: { host, port, database, user, tls, ...(place.allowSuperuser && { allow_superuser: true }) },
      });
      return { row: saved, before: replaced };
    });
    sources.forget(tenant);
    sources.leave(before, place);
    auditRelay.nudge();
    return { dataSource: toDataSource(row, place), tables, roleGate };
  },
});

function certificate(pem: string): string {
  try {
    if (pem !== '') new X509Certificate(pem);
    return pem;
  } catch (cause) {
    throw new ServiceError('invalid_request', {
      message: 'The certificate can not be read; give it in PEM.',
      param: 'ca_certificate',
      cause,
    });
  }
}

/** Only a database that answers is connected. */
async function lookInto(place: DataSourceConnection, onLost: (cause: unknown) => void) {
  try {
    const source = createDataSource({ ...toDataSourceSettings(place), poolMax: 1, applicationName: 'agent-service agents' }, onLost);
    try {
      return { tables: tableNames(await source.catalog()), roleGate: toRoleGate(await source.roleGate()) };
    } finally {
      await source.close();
    }
  } catch (cause) {
    throw sourceFailure(cause);
  }
}
