import type { Tenant } from '@agent-service/contracts';
import { asCaller, type BootedService } from './boot.ts';
import type { Moment } from './usage-histories.ts';

/** A clock that the test sets. */
export interface Clock {
  at: number;
}

/** Opens the tenant's ledger with enough credits for all users. */
export async function grantCredits(credits: BootedService, tenant: Tenant): Promise<void> {
  await credits.operator.grant({ tenant, grantId: 'g1', amount: 1_000_000_000 });
  await asCaller(tenant, () => credits.gateway.updateSettings({ defaultMonthlyLimit: 1_000_000 }));
}

/** Holds and settles the uses of each moment, at its time. */
export async function useCredits(credits: BootedService, clock: Clock, tenant: Tenant, history: readonly Moment[]): Promise<void> {
  for (const { at, uses } of history) {
    clock.at = at;
    const items = uses.map(({ credits: amount, ...use }, index) => ({ ...use, tenant, amount, holdId: `msg_${at}_${unique()}_${index}` }));
    const deadlineMs = at + 300_000;
    const holdResults = await credits.agents.hold({ items: items.map((item) => ({ ...item, amount: 50, deadlineMs })) });
    const settleResults = await credits.agents.settle({
      items: items.map((item) => ({ ...item, conversationId: `conv_${item.userId}`, querySummary: `Asks for ${item.amount}` })),
    });
    const refused = [...holdResults.results, ...settleResults.results].find(({ refusal }) => refusal);
    if (refused) throw new Error(`refused: ${refused.refusal?.code}`);
  }
}

let count = 0;
const unique = () => {
  count += 1;
  return count;
};
