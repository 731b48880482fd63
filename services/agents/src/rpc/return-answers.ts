import { type RpcOf, services } from '@agent-service/contracts';
import { checkAttempt } from '../answers/key.ts';
import { checkItems } from '../answers/rpc-items.ts';
import type { AgentsContext } from '../context.ts';

export const returnAnswers = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'returnAnswers'> => ({
  allow: services('answer-worker'),
  async handle({ answers: items, processDied }) {
    checkItems(items);
    const attempts = items.map(checkAttempt);
    await (processDied ? answers.loseLeases(attempts) : answers.handBack(attempts));
    return {};
  },
});
