import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { checkAttempt } from '../key.ts';
import { checkItems, refusalMessage } from './items.ts';

export const failAnswer = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'failAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items }) {
    checkItems(items);
    const attempts = items.map(({ answer, failure }) => {
      if (!answer) throw new ServiceError('invalid_request', { message: 'answer is missing.', param: 'answer' });
      return { ...checkAttempt(answer), failure };
    });
    const refusals = await answers.fail(attempts);
    return { results: refusals.map((refusal) => (refusal ? { refusal: refusalMessage(refusal) } : {})) };
  },
});
