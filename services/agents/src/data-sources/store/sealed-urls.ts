import { sealedColumn } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';

/** What a tenant's URL is sealed with: nobody else's opens there. */
export const urlContext = ({ organizationId, environment }: Tenant): string => `data_sources ${organizationId} ${environment} url`;

/** The URLs of data sources, with their passwords. Sealing one anew is no new version: it leads to the same place. */
export const sealedUrls = sealedColumn({
  table: 'data_sources',
  column: 'url_sealed',
  key: ['organization_id', 'environment'],
  contextOf: ({ organization_id: organizationId = '', environment }) =>
    urlContext({ organizationId, environment: environment as Tenant['environment'] }),
});
