import { checkId, type RpcOf, services } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { decideItems } from './items.ts';

const limitMs = 5_000;

export const release = ({ queue }: CreditsContext): RpcOf<'credits', 'release'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const outcomes = await decideItems(call, {
      queue,
      items,
      limitMs,
      tenantOf: ({ tenant }) => tenant,
      operationOf: ({ holdId }) => ({ kind: 'release', id: checkId(holdId, 'hold_id') }),
    });
    return {
      results: outcomes.map((outcome) =>
        'code' in outcome ? { refusal: outcome } : { released: outcome.kind === 'release' ? outcome.released : 0 },
      ),
    };
  },
});
