import { type RpcOf, services } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { AgentsContext } from '../context.ts';
import { finishStep as endStep } from '../store/steps.ts';
import { attemptOf } from './attempt.ts';

/** A change that was made stands in the audit log. */
export const finishStep = ({ store, auditRelay, now }: AgentsContext): RpcOf<'agents', 'finishStep'> => ({
  allow: services('answer-worker'),
  async handle({ answer, step, rows, undone }, call) {
    const { tenant, attempt } = attemptOf(answer);
    await store.transaction(async ({ sql }) => {
      const description = await endStep(sql, { ...attempt, step, rows, undone }, now());
      if (description === undefined || undone) return;
      await writeAudit(sql, call, {
        ...tenant,
        action: 'business_data.changed',
        target: { type: 'answer', id: attempt.answerId },
        changes: { change: description, rows },
      });
    });
    auditRelay.nudge();
    return {};
  },
});
