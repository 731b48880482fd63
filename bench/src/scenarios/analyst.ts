import { evaluateAnalyst, floors, type Part } from '@agent-service/analyst/evaluation';
import { testDatabase } from '@agent-service/testkit';
import startServers from '@agent-service/testkit/infrastructure/global-setup';
import stopServers from '@agent-service/testkit/infrastructure/global-teardown';
import type { Scenario } from '../scenario.ts';

const parts: readonly Part[] = ['tuned', 'hardening', 'untouched'];
const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** The evaluation set of the built-in analyst. Only these totals of its untouched half are ever shown. */
export const analyst: Scenario = {
  name: 'analyst',
  about:
    'questions to the built-in analyst in wordings that it does not know: how many are right, asked back, and answered with a wrong figure',
  async run(say) {
    const { scores } = await evaluateOnServers();
    const promises = parts.flatMap((part) => {
      const { wordings, right, askedBack, wrong } = scores[part];
      say(
        `${part}: of ${wordings} wordings ${percent(right / wordings)} right, ${percent(askedBack / wordings)} asked back, ${percent(wrong / wordings)} wrong`,
      );
      return [
        { name: `${part}: share that is right`, measured: right / wordings, atLeast: floors[part].right },
        { name: `${part}: share with a wrong figure`, measured: wrong / wordings, atMost: floors[part].wrong },
      ];
    });
    const figures = parts.flatMap((part) => Object.entries(scores[part]).map(([name, count]) => [`${part} ${name}`, count] as const));
    return { promises, figures: Object.fromEntries(figures) };
  },
};

async function evaluateOnServers(): ReturnType<typeof evaluateAnalyst> {
  await startServers();
  try {
    return await evaluateAnalyst(parts, testDatabase);
  } finally {
    await stopServers();
  }
}
