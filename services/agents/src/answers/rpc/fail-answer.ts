import { checkItems, type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { checkAttempt } from '../keys.ts';
import { refusalMessage } from './items.ts';

export const failAnswer = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'failAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items }) {
    checkItems(items);
    const refusals = await answers.fail(items.map(({ answer, failure }) => ({ ...checkAttempt(answer), failure })));
    return { results: refusals.map((refusal) => (refusal ? { refusal: refusalMessage(refusal) } : {})) };
  },
});
