import type { Call } from '@agent-service/contracts';
import { type Sql, writeAudit, writeEvents } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import type { Tenant } from '../../shared/tenant.ts';
import { type Counted, countChanges } from '../domain/counts.ts';
import { type AgentEvent, toAuditChanges, toEventData } from '../domain/events.ts';
import { moveCounts } from '../store/agent-counts.ts';

export interface AgentEffect {
  readonly tenant: Tenant;
  readonly event: AgentEvent;
  /** Where the agent was counted before. */
  readonly before: Counted | undefined;
  readonly at: number;
}

/** All that follows from a change of an agent and belongs to its transaction: counters, the audit entry, the event. */
export async function recordEffects(
  { events }: Pick<AgentsContext, 'events'>,
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

/** The effects are committed: whoever carries them on need not wait for the next look. */
export function nudgeRelays({ auditRelay, eventRelay }: Pick<AgentsContext, 'auditRelay' | 'eventRelay'>): void {
  auditRelay.nudge();
  eventRelay?.nudge();
}
