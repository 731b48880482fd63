import { newId, type Sql, writeOutbox } from '@agent-service/store';
import type { Tenant } from '../domain/tenant.ts';

export interface TenantEvent {
  readonly type: string;
  readonly at: number;
  /** What subscribers get in its `data` beside the organization. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Leaves events for the webhooks in the transaction that caused them. */
export async function writeEvents(sql: Sql, tenant: Tenant, events: readonly TenantEvent[]): Promise<void> {
  const messages = events.map(({ type, at, data }) => {
    const id = newId('evt');
    const createdAt = new Date(at).toISOString();
    return { id, payload: { id, type, ...tenant, createdAt, data: { organization_id: tenant.organizationId, ...data } } };
  });
  await writeOutbox(sql, 'events', messages);
}
