import { startAnswersFloor } from '../answers/floor.ts';
import { startAnswersSystem } from '../answers/system.ts';
import { load, type Measured } from '../load.ts';
import { median, type Scenario } from '../scenario.ts';

const connections = 100;
const warmUpSeconds = 30;
const seconds = 5;
const rounds = 5;
const body = { message: 'How did the last month go?' };

/** The cost of accepting an answer once, leasing, billing, recording and limiting it, when the model costs nothing. */
export const answersThroughput: Scenario = {
  name: 'answers-throughput',
  about: `answers a second, ${connections} connections, model at once, against Express + insert + BullMQ job + model call + insert + reply`,
  async run(say) {
    const bench = await startAnswersSystem(0, { ORGANIZATION_ANSWERS_IN_FLIGHT: String(10 * connections) });
    const { key, messages } = await bench.organization('Throughput');
    const floor = await startAnswersFloor({
      databaseUrl: bench.system.endpoints['postgres'] ?? '',
      redisUrl: bench.system.endpoints['redis'] ?? '',
      modelUrl: bench.modelUrl,
    });
    try {
      const headers = { authorization: `Bearer ${key}` };
      const ours = (length: number) => load({ url: `${bench.system.url}${messages}`, headers, body, connections, seconds: length });
      const bare = (length: number) => load({ url: floor.url, body, connections, seconds: length });
      await ours(warmUpSeconds);
      await bare(warmUpSeconds);
      const measured: { ours: Measured; floor: Measured }[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const pair = { ours: await ours(seconds), floor: await bare(seconds) };
        measured.push(pair);
        say(
          `round ${round}: ${(pair.ours.perSecond / pair.floor.perSecond).toFixed(3)} of the floor's answers a second, p50 ${(pair.ours.p50 / pair.floor.p50).toFixed(2)} and p99 ${(pair.ours.p99 / pair.floor.p99).toFixed(2)} times the floor's`,
        );
      }
      const ratio = (of: (pair: { ours: Measured; floor: Measured }) => number) => measured.map(of);
      const throughput = ratio((pair) => pair.ours.perSecond / pair.floor.perSecond);
      const p50 = ratio((pair) => pair.ours.p50 / pair.floor.p50);
      const p99 = ratio((pair) => pair.ours.p99 / pair.floor.p99);
      return {
        promises: [
          { name: 'answers a second, of the floor', measured: median(throughput), atLeast: 0.8 },
          { name: 'p50, times the floor', measured: median(p50), atMost: 1.5 },
          { name: 'p99, times the floor', measured: median(p99), atMost: 2 },
        ],
        figures: { connections, rounds, throughput, p50, p99 },
      };
    } finally {
      await floor.stop();
      await bench.stop();
    }
  },
};
