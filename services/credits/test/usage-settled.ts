import type { Tenant } from '../src/domain/accounts.ts';
import { asCaller, type Booted } from './booted.ts';
import type { Moment } from './usage-histories.ts';

/** A clock that stands until it is set. */
export interface Clock {
  at: number;
}

/** Opens the tenant's ledger with credits for everyone. */
export async function endow(credits: Booted, tenant: Tenant): Promise<void> {
  await credits.operator.grant({ tenant, grantId: 'g1', amount: 1_000_000_000 });
  await asCaller(tenant, () => credits.gateway.updateSettings({ defaultMonthlyLimit: 1_000_000 }));
}

/** Uses credits as answers do: held, then settled, each moment at its own time. */
export async function useCredits(credits: Booted, clock: Clock, tenant: Tenant, history: readonly Moment[]): Promise<void> {
  for (const { at, uses } of history) {
    clock.at = at;
    const items = uses.map(({ credits: amount, ...use }, index) => ({ ...use, tenant, amount, holdId: `msg_${at}_${unique()}_${index}` }));
    const deadlineMs = at + 300_000;
    const held = await credits.agents.hold({ items: items.map((item) => ({ ...item, amount: 50, deadlineMs })) });
    const settled = await credits.agents.settle({
      items: items.map((item) => ({ ...item, conversationId: `conv_${item.userId}`, querySummary: `Asks for ${item.amount}` })),
    });
    const refused = [...held.results, ...settled.results].find(({ refusal }) => refusal);
    if (refused) throw new Error(`refused: ${refused.refusal?.code}`);
  }
}

let count = 0;
const unique = () => {
  count += 1;
  return count;
};
