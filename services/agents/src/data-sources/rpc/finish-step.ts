import { type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { lostClaim, tellLost } from '../store/lost-steps.ts';
import { writeEntry } from '../store/step-entries.ts';
import { finishStep as endStep } from '../store/steps.ts';
import { attemptOf } from './attempt.ts';

/** What became of a change stands in the audit log, once. */
export const finishStep = ({ store, auditRelay, now }: AgentsContext): RpcOf<'agents', 'finishStep'> => ({
  allow: services('answer-worker'),
  async handle({ answer, step, rows, undone, unknown }) {
    const { attempt } = attemptOf(answer);
    if (unknown) await tellLost(store.sql, await lostClaim(store.sql, { ...attempt, step }), now());
    else
      await store.transaction(async ({ sql }) => {
        const claim = await endStep(sql, { ...attempt, step, rows, undone }, now());
        if (claim) await writeEntry(sql, claim, undone ? { kind: 'undone' } : { kind: 'changed', rows }, now());
      });
    auditRelay.nudge();
    return {};
  },
});
