import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { ask, quantile } from '../answers/asks.ts';
import { type AnswersSystem, startAnswersSystem } from '../answers/system.ts';
import type { Scenario } from '../scenario.ts';

const inFlight = 2_000;
const modelMs = 10_000;
const sampledAfterMs = 7_000;

/** Answers that wait for a slow model, all in one worker. */
export const answersInFlight: Scenario = {
  name: 'answers-in-flight',
  about: `${inFlight} answers at once on one worker with a model that takes ${modelMs / 1000} s: all complete; what a waiting answer takes of the worker's memory`,
  async run(say) {
    const settings = { ANSWER_CONCURRENCY: String(inFlight + 500), ORGANIZATION_ANSWERS_IN_FLIGHT: String(inFlight + 500) };
    const bench = await startAnswersSystem(modelMs, settings);
    try {
      const { key, messages } = await bench.organization('In flight');
      const question = { url: `${bench.system.url}${messages}`, key };
      // Compiled code and pools are there before the measurement; what is measured is what an answer adds.
      await Promise.all(Array.from({ length: 100 }, () => ask(question)));
      const before = residentOf(bench);
      const began = performance.now();
      const answers = Promise.allSettled(Array.from({ length: inFlight }, () => ask(question)));
      await pause(sampledAfterMs);
      const during = residentOf(bench);
      const outcomes = await answers;
      const completed = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.totalMs] : []));
      const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
      say(
        `${completed.length} completed in ${((performance.now() - began) / 1000).toFixed(1)} s${reasons[0] ? `; first failure: ${reasons[0]}` : ''}`,
      );
      const each = (during - before) / inFlight;
      return {
        promises: [
          { name: 'answers completed', measured: completed.length, atLeast: inFlight },
          { name: "kB of the worker's memory a waiting answer", measured: each, atMost: 60 },
        ],
        figures: { inFlight, modelMs, beforeKB: before, duringKB: during, slowestMs: Math.round(quantile(completed, 1)) },
      };
    } finally {
      await bench.stop();
    }
  },
};

/** The worker's resident memory in kB. */
function residentOf({ system }: AnswersSystem): number {
  const status = readFileSync(`/proc/${system.processes.get('answer-worker')?.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
}
