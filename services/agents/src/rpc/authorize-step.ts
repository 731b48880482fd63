import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { AgentsContext } from '../context.ts';
import { claimStep, type Standing, standingOf } from '../store/steps.ts';
import { attemptOf } from './attempt.ts';

const longestDescription = 500;

/** Looked up before every step, so that a scope that was narrowed or an agent that was deleted holds for the next query. */
export const authorizeStep = ({ store, now }: AgentsContext): RpcOf<'agents', 'authorizeStep'> => ({
  allow: services('answer-worker'),
  async handle({ answer, step, kind, description }, call) {
    const { attempt } = attemptOf(answer);
    if (kind !== 'change') return toResponse(await standingOf(store.sql, attempt, false));
    return await store.transaction(async ({ sql }) => {
      const standing = await standingOf(sql, attempt, true);
      if (!standing) throw new ServiceError('attempt_superseded');
      if (standing.readOnly) throw new ServiceError('invalid_request', { message: 'This agent may only read.' });
      if (!standing.isActive) throw new ServiceError('invalid_request', { message: 'This agent is not active: it changes nothing.' });
      if (!(await claimStep(sql, attempt, { step, description: description.slice(0, longestDescription) }, now())))
        throw new ServiceError('change_unfinished');
      call.checkDeadline();
      return toResponse(standing);
    });
  },
});

function toResponse(standing: Standing | undefined) {
  if (!standing) throw new ServiceError('attempt_superseded');
  const { tables, readOnly, sourceVersion } = standing;
  return { dataScope: { tables, readOnly }, sourceVersion };
}
