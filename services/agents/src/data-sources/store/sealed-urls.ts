import { sealedColumn } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';

/** Bound to the sealed URL, so that a URL copied to another tenant does not open. */
export const urlContext = ({ organizationId, environment }: Tenant): string => `data_sources ${organizationId} ${environment} url`;

/** The URLs of data sources, with their passwords. Sealing one with a newer key does not change the data source's version. */
export const sealedUrls = sealedColumn({
  table: 'data_sources',
  column: 'url_sealed',
  key: ['organization_id', 'environment'],
  contextOf: ({ organization_id: organizationId = '', environment }) =>
    urlContext({ organizationId, environment: environment as Tenant['environment'] }),
});
