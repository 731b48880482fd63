import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { checkId, decideItems } from './items.ts';

const limitMs = 5_000;
const longestText = 2_000;

export const settle = ({ queue }: CreditsContext): RpcOf<'credits', 'settle'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const outcomes = await decideItems(call, {
      queue,
      items,
      limitMs,
      tenantOf: ({ tenant }) => tenant,
      operationOf: (item) => ({
        kind: 'settle',
        id: checkId(item.holdId, 'hold_id'),
        amount: item.amount,
        usage: {
          agentId: checkId(item.agentId, 'agent_id'),
          agentName: checkText(item.agentName, 'agent_name'),
          conversationId: checkId(item.conversationId, 'conversation_id'),
          tier: checkId(item.tier, 'tier'),
          inputTokens: checkCount(item.inputTokens, 'input_tokens'),
          outputTokens: checkCount(item.outputTokens, 'output_tokens'),
          querySummary: checkText(item.querySummary, 'query_summary'),
        },
      }),
    });
    return {
      results: outcomes.map((outcome) =>
        'code' in outcome ? { refusal: outcome } : { charged: outcome.kind === 'settle' ? outcome.charge : 0 },
      ),
    };
  },
});

function checkCount(count: number, param: string): number {
  if (count >= 0) return count;
  throw new ServiceError('invalid_request', { message: `${param} must not be negative.`, param });
}

function checkText(text: string, param: string): string {
  if (text.length <= longestText && !text.includes('\0')) return text;
  throw new ServiceError('invalid_request', { message: `${param} must have at most ${longestText} characters and no NUL.`, param });
}
