import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { earlierClaims, tellLost } from '../store/lost-steps.ts';
import { writeEntry } from '../store/step-entries.ts';
import { claimStep, type Standing, standingOf } from '../store/steps.ts';
import { attemptOf } from './attempt.ts';
import { stepChangeOf } from './step-change.ts';

/** Looked up before every step, so that a scope that was narrowed or an agent that was deleted holds for the next query. */
export const authorizeStep = ({ store, auditRelay, now }: AgentsContext): RpcOf<'agents', 'authorizeStep'> => ({
  allow: services('answer-worker'),
  async handle({ answer, step, kind, description, change }, call) {
    const { attempt } = attemptOf(answer);
    if (kind !== 'change') return toResponse(await standingOf(store.sql, attempt, false));
    const standing = await store.transaction(async ({ sql }) => {
      const standing = changeable(await standingOf(sql, attempt, true));
      const claim = await claimStep(sql, attempt, { step, ...stepChangeOf({ description, change }) }, now());
      if (claim?.isNew) await writeEntry(sql, claim, { kind: 'started' }, now());
      if (!claim) await tellLost(sql, await earlierClaims(sql, attempt), now());
      call.checkDeadline();
      return claim && standing;
    });
    auditRelay.nudge();
    if (!standing) throw new ServiceError('change_unfinished');
    return toResponse(standing);
  },
});

function changeable(standing: Standing | undefined): Standing {
  if (!standing) throw new ServiceError('attempt_superseded');
  if (standing.readOnly) throw new ServiceError('invalid_request', { message: 'This agent may only read.' });
  if (!standing.isActive) throw new ServiceError('invalid_request', { message: 'This agent is not active: it changes nothing.' });
  return standing;
}

function toResponse(standing: Standing | undefined) {
  if (!standing) throw new ServiceError('attempt_superseded');
  const { tables, readOnly, sourceVersion } = standing;
  return { dataScope: { tables, readOnly }, sourceVersion };
}
