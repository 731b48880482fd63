import { type SealedPlace, sealedColumn } from '@agent-service/store';
import type { Tenant } from '../domain/tenant.ts';

/** What an endpoint's secrets are sealed with: nobody else's opens there. */
export const secretContext = ({ organizationId, environment }: Tenant, endpointId: string): string =>
  `webhook secret ${organizationId}/${environment}/${endpointId}`;

const ofEndpoints = (column: string) =>
  sealedColumn({
    table: 'endpoints',
    column,
    key: ['organization_id', 'environment', 'id'],
    contextOf: ({ organization_id: organizationId = '', environment, id = '' }) =>
      secretContext({ organizationId, environment: environment as Tenant['environment'] }, id),
  });

/** What a repeat under an Idempotency-Key is answered with goes after a day, sealed as it is. */
const kept: SealedPlace = {
  name: 'idempotency_records.response',
  table: 'idempotency_records',
  value: `(coalesce(response ->> 'sealedSecret', response ->> 'sealed'))`,
};

export const sealedPlaces = [ofEndpoints('secret'), ofEndpoints('previous_secret'), kept];
