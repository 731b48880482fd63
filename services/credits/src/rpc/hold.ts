import { checkId, type RpcOf, services } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { checkTier, decideItems } from './items.ts';

/** A ledger that does not answer within this refuses: nobody spends on a guess. */
const limitMs = 800;

export const hold = ({ queue, prices }: CreditsContext): RpcOf<'credits', 'hold'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const outcomes = await decideItems(call, {
      queue,
      items,
      limitMs,
      tenantOf: ({ tenant }) => tenant,
      operationOf: ({ holdId, userId, amount, tier, deadlineMs }) => ({
        kind: 'hold',
        id: checkId(holdId, 'hold_id'),
        userId: checkId(userId, 'user_id'),
        amount: amount ?? checkTier(prices, tier).ceiling,
        deadline: Number(deadlineMs),
      }),
    });
    return {
      results: outcomes.map((outcome) =>
        'code' in outcome ? { refusal: outcome } : { held: outcome.kind === 'hold' ? outcome.amount : 0 },
      ),
    };
  },
});
