import { type RpcOf, services } from '@agent-service/contracts';
import { checkAttempt } from '../answers/key.ts';
import { checkItems } from '../answers/rpc-items.ts';
import type { AgentsContext } from '../context.ts';

export const returnAnswers = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'returnAnswers'> => ({
  allow: services('answer-worker'),
  async handle({ answers: items }) {
    checkItems(items);
    await answers.handBack(items.map(checkAttempt));
    return {};
  },
});
