import { checkId, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { chargeOf, type PriceBook } from '../domain/holds.ts';
import type { SettleOperation } from '../domain/operations.ts';
import { checkTier, decideItems } from './items.ts';

const limitMs = 5_000;
const longestText = 2_000;
const longestSummary = 120;

export const settle = ({ queue, prices }: CreditsContext): RpcOf<'credits', 'settle'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const outcomes = await decideItems(call, {
      queue,
      items,
      limitMs,
      tenantOf: ({ tenant }) => tenant,
      operationOf: (item) => toOperation(prices, item),
    });
    return {
      results: outcomes.map((outcome) =>
        'code' in outcome ? { refusal: outcome } : { charged: outcome.kind === 'settle' ? outcome.charge : 0 },
      ),
    };
  },
});

type SettleItem = Parameters<RpcOf<'credits', 'settle'>['handle']>[0]['items'][number];

function toOperation(prices: PriceBook, item: SettleItem): SettleOperation {
  const price = checkTier(prices, item.tier);
  const inputTokens = checkCount(item.inputTokens, 'input_tokens');
  const outputTokens = checkCount(item.outputTokens, 'output_tokens');
  return {
    kind: 'settle',
    id: checkId(item.holdId, 'hold_id'),
    amount: item.amount ?? chargeOf(price, { input: inputTokens, output: outputTokens }),
    usage: {
      agentId: checkId(item.agentId, 'agent_id'),
      agentName: checkText(item.agentName, 'agent_name'),
      conversationId: checkId(item.conversationId, 'conversation_id'),
      tier: item.tier,
      inputTokens,
      outputTokens,
      querySummary: checkText(summaryOf(item.querySummary), 'query_summary'),
    },
  };
}

/** Characters are code points, so that none is cut in two; as many of them never take more than twice as many units. */
const summaryOf = (text: string) => [...text.slice(0, 2 * longestSummary)].slice(0, longestSummary).join('');

function checkCount(count: number, param: string): number {
  if (count >= 0) return count;
  throw new ServiceError('invalid_request', { message: `${param} must not be negative.`, param });
}

function checkText(text: string, param: string): string {
  if (text.length <= longestText && !text.includes('\0')) return text;
  throw new ServiceError('invalid_request', { message: `${param} must have at most ${longestText} characters and no NUL.`, param });
}
