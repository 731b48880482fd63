import { checkId, checkItems, type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import type { BeginOutcome } from '../begin.ts';
import { checkKey } from '../keys.ts';
import { refusalMessage, runEach } from './items.ts';

export const beginAnswer = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'beginAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items, workerChannel }) {
    checkItems(items);
    const outcomes = await runEach(items, async ({ answer, claim, apart, shared }) =>
      answers.begin({
        ...checkKey(answer),
        claim: checkId(claim, 'claim'),
        apart,
        shared,
        workerChannel: checkId(workerChannel, 'worker_channel'),
      }),
    );
    return { results: outcomes.map((outcome) => ('code' in outcome ? { refusal: refusalMessage(outcome) } : toResult(outcome))) };
  },
});

function toResult(outcome: BeginOutcome) {
  if ('refusal' in outcome) return { refusal: refusalMessage(outcome.refusal) };
  const { begun, history } = outcome;
  return {
    begun: {
      attempt: begun.attempt,
      deadlineMs: begun.deadline,
      agentId: begun.agentId,
      conversationId: begun.conversationId,
      userId: begun.userId,
      model: begun.tier,
      systemPrompt: begun.systemPrompt ?? '',
      dataScope: { tables: begun.tables ?? [], readOnly: begun.readOnly ?? true },
      outputPreferences: { defaultFormat: begun.defaultFormat ?? '', chartEnabled: begun.chartEnabled ?? false },
      message: begun.message,
      contextJson: begun.contextJson,
      history: [...history],
      replyChannels: begun.replyChannels,
      stream: begun.stream,
      requestId: begun.requestId,
      traceparent: begun.traceparent,
      changedBefore: begun.changedBefore,
      sourceVersion: begun.sourceVersion,
    },
  };
}
