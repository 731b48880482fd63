import { askSteadily, quantile } from '../answers/asks.ts';
import { startAnswersSystem } from '../answers/system.ts';
import type { Scenario } from '../scenario.ts';

const inFlight = 100;
const modelMs = 300;
const seconds = 10;
const rampMs = 1_500;

/** The time that the way to the model and back adds to the model's own. */
export const answersLatency: Scenario = {
  name: 'answers-latency',
  about: `what is added to a model that takes ${modelMs} ms, with ${inFlight} answers in flight: whole answers, and the first delta of streamed ones`,
  async run(say) {
    const bench = await startAnswersSystem(modelMs, { ORGANIZATION_ANSWERS_IN_FLIGHT: String(10 * inFlight) });
    try {
      const { key, messages } = await bench.organization('Latency');
      const question = { url: `${bench.system.url}${messages}`, key };
      const measure = async (stream: boolean, length: number) =>
        await askSteadily({ question: { ...question, stream }, inFlight, seconds: length, rampMs });
      await measure(false, 8);
      await measure(true, 8);
      const whole = (await measure(false, seconds)).map(({ totalMs }) => totalMs - modelMs);
      const first = (await measure(true, seconds)).map(({ firstDeltaMs }) => firstDeltaMs - modelMs);
      say(`${whole.length} whole and ${first.length} streamed answers`);
      return {
        promises: [
          { name: 'added to a whole answer, p50 in ms', measured: quantile(whole, 0.5), atMost: 15 },
          { name: 'added to a whole answer, p99 in ms', measured: quantile(whole, 0.99), atMost: 60 },
          { name: 'added to the first delta, p50 in ms', measured: quantile(first, 0.5), atMost: 15 },
          { name: 'added to the first delta, p99 in ms', measured: quantile(first, 0.99), atMost: 60 },
        ],
        figures: { inFlight, modelMs, whole: whole.length, streamed: first.length },
      };
    } finally {
      await bench.stop();
    }
  },
};
