import { newId } from '@agent-service/contracts';
import { type Sql, writeOutbox } from '@agent-service/store';
import type { Tenant } from '../domain/accounts.ts';
import type { CreditEvent } from '../domain/state.ts';

/** What subscribers of the event get in its `data`. */
function dataOf(event: CreditEvent, { organizationId }: Tenant): Record<string, unknown> {
  const { balance } = event;
  switch (event.type) {
    case 'credits.low_balance':
      return { organization_id: organizationId, balance, threshold: event.threshold };
    case 'credits.depleted':
      return { organization_id: organizationId, balance, depleted_at: new Date(event.at).toISOString() };
    case 'credits.replenished':
      return { organization_id: organizationId, amount: event.amount, balance, source: event.source };
  }
}

/** Leaves events for the webhooks in the transaction that caused them. */
export async function writeEvents(sql: Sql, tenant: Tenant, events: readonly CreditEvent[]): Promise<void> {
  const messages = events.map((event) => {
    const id = newId('evt');
    const createdAt = new Date(event.at).toISOString();
    return { id, payload: { id, type: event.type, ...tenant, createdAt, data: dataOf(event, tenant) } };
  });
  await writeOutbox(sql, 'events', messages);
}
