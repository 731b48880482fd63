import { checkItems, type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { checkAttempt, keyMessage, nameOf } from '../keys.ts';

export const renewLeases = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'renewLeases'> => ({
  allow: services('answer-worker'),
  async handle({ answers: items }) {
    checkItems(items);
    const attempts = items.map(checkAttempt);
    const renewed = new Map((await answers.leases.renew(attempts)).map((attempt) => [nameOf(attempt), attempt.attempt]));
    const lost = attempts.filter((attempt) => renewed.get(nameOf(attempt)) !== attempt.attempt);
    return { lost: lost.map((key) => ({ answer: keyMessage(key), attempt: key.attempt })) };
  },
});
