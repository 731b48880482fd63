import type { Call } from '@agent-service/contracts';
import { type Sql, type Transaction, writeAudit, writeEvents } from '@agent-service/store';
import type { Sources } from '../../data-sources/index.ts';
import type { ServiceDeps } from '../../shared/deps.ts';
import type { Tenant } from '../../shared/tenant.ts';
import { type Counted, countChanges } from '../domain/counts.ts';
import { type AgentEvent, toAuditChanges, toEventData } from '../domain/events.ts';
import { moveCounts } from '../store/agent-counts.ts';

export interface AgentsDeps extends ServiceDeps {
  readonly sources: Pick<Sources, 'catalogOf'>;
  /** Ends the unfinished answers of a deleted agent in its transaction; the result is called after the commit. */
  readonly failAnswersOfAgent: (transaction: Transaction, tenant: Tenant, agentId: string) => Promise<() => void>;
}

export interface AgentEffect {
  readonly tenant: Tenant;
  readonly event: AgentEvent;
  /** The status and category that the agent was counted under. */
  readonly before: Counted | undefined;
  readonly at: number;
}

/** Writes what belongs to the transaction of a change: counters, the audit entry and the event. */
export async function recordEffects(
  { events }: Pick<ServiceDeps, 'events'>,
  sql: Sql,
  call: Call,
  { tenant, event, before, at }: AgentEffect,
): Promise<void> {
  await moveCounts(sql, tenant, countChanges(before, event.type === 'agent.deleted' ? undefined : event.agent));
  await writeAudit(sql, call, {
    ...tenant,
    action: event.type,
    target: { type: 'agent', id: event.agent.id },
    changes: toAuditChanges(event),
  });
  if (!events) return;
  const data = { organization_id: tenant.organizationId, ...toEventData(event) };
  await writeEvents(sql, [{ ...tenant, type: event.type, createdAt: new Date(at).toISOString(), data }]);
}

/** Called after the commit, so that the relays do not wait for their next poll. */
export function nudgeRelays({ auditRelay, eventRelay }: Pick<ServiceDeps, 'auditRelay' | 'eventRelay'>): void {
  auditRelay.nudge();
  eventRelay?.nudge();
}
