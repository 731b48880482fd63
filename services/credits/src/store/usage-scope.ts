import type { Parameters } from '@agent-service/store';
import type { Tenant } from '../domain/accounts.ts';

/** Whose usage is asked for; '' stands for everyone and every agent. */
export interface UsageScope {
  readonly tenant: Tenant;
  readonly userId: string;
  readonly agentId: string;
}

/** Days as they are compared in statements, both included; infinity and -infinity are open. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** What users and agents are grouped by. */
export type UsageKey = 'user_id' | 'agent_id';

/** The condition that keeps rows to the scope, written once a statement so that its parts share their parameters. */
export function inScope({ tenant, userId, agentId }: UsageScope, { add }: Parameters): (alias: string) => string {
  const columns: [string, string][] = [
    ['organization_id', add(tenant.organizationId)],
    ['environment', add(tenant.environment)],
  ];
  if (userId !== '') columns.push(['user_id', add(userId)]);
  if (agentId !== '') columns.push(['agent_id', add(agentId)]);
  return (alias) => columns.map(([column, place]) => `${alias}.${column} = ${place}`).join(' and ');
}

/** The rollup whose rows, by tier and day, are about just this. */
export function rollupOf({ userId, agentId }: Pick<UsageScope, 'userId' | 'agentId'>): string {
  if (userId !== '') return agentId === '' ? 'usage_by_user' : 'usage_by_user_agent';
  return agentId === '' ? 'usage_by_tier' : 'usage_by_agent';
}
