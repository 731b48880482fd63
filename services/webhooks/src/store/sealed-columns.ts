import type { Tenant } from '@agent-service/contracts';
import { type SealedField, sealedColumn } from '@agent-service/store';

/** The context that a webhook's secrets are sealed with, so that they cannot be opened for another webhook. */
export const secretContext = ({ organizationId, environment }: Tenant, webhookId: string): string =>
  `webhook secret ${organizationId}/${environment}/${webhookId}`;

const ofWebhooks = (column: string) =>
  sealedColumn({
    table: 'endpoints',
    column,
    key: ['organization_id', 'environment', 'id'],
    contextOf: ({ organization_id: organizationId = '', environment, id = '' }) =>
      secretContext({ organizationId, environment: environment as Tenant['environment'] }, id),
  });

/** Outcomes that are stored under an Idempotency-Key are removed after a day and not sealed again. */
const storedOutcomes: SealedField = {
  name: 'idempotency_records.response',
  table: 'idempotency_records',
  value: `(coalesce(response ->> 'sealedSecret', response ->> 'sealed'))`,
};

export const sealedColumns = [ofWebhooks('secret'), ofWebhooks('previous_secret'), storedOutcomes];
