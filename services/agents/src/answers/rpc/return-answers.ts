import { checkItems, type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { checkAttempt } from '../keys.ts';

export const returnAnswers = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'returnAnswers'> => ({
  allow: services('answer-worker'),
  async handle({ answers: items, processDied }) {
    checkItems(items);
    const attempts = items.map(checkAttempt);
    await (processDied ? answers.leases.lose(attempts) : answers.leases.return(attempts));
    return {};
  },
});
