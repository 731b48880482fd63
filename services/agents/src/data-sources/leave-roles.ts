import { DataFailure, type DataSourceConnection, dropScopedRoles, toDataSourceSettings } from '@agent-service/business-data';
import type { ProcessContext } from '@agent-service/runtime';
import { tenantName } from '@agent-service/work';
import type { Tenant } from '../shared/tenant.ts';
import { distanceOf } from './place.ts';

export interface Leaving {
  readonly before: DataSourceConnection;
  /** Where the data is from now on; undefined where nothing is connected any more. */
  readonly now: DataSourceConnection | undefined;
}

/**
 * Takes the roles away that were made for the tenant's scopes, where its data is elsewhere from now on. Another port of the same host
 * may be another server, or the same one that has moved: then nobody answers at the old one, and that is nothing to warn of.
 */
export function leaveRoles(process: Pick<ProcessContext, 'logger' | 'stopping'>, tenant: Tenant, { before, now }: Leaving): void {
  const distance = now ? distanceOf(before, now) : 'elsewhere';
  if (distance === 'none') return;
  const { logger, stopping } = process;
  const event = { organization_id: tenant.organizationId, environment: tenant.environment };
  dropScopedRoles(toDataSourceSettings(before), tenantName(tenant), stopping).then(
    (counts) => logger.info({ event: 'data_source_roles_dropped', ...event, ...counts }),
    (cause: unknown) => {
      const hasMoved = distance === 'another port' && cause instanceof DataFailure && cause.kind === 'unavailable';
      logger[hasMoved ? 'debug' : 'warn']({ event: 'data_source_roles_left', ...event, err: cause });
    },
  );
}
