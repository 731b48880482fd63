import { startAnswersFloor } from '../answers/floor.ts';
import { startAnswersSystem } from '../answers/system.ts';
import { load, type Measured } from '../load.ts';
import { median, type Scenario } from '../scenario.ts';

const connections = 100;
const warmUpSeconds = 30;
const seconds = 5;
const rounds = 5;
const body = { message: 'How did the last month go?' };

const about = `answers a second, ${connections} connections of one organization, model at once, against Express + insert + BullMQ job + model call + insert + reply`;

/** The cost of accepting an answer once, leasing, billing, recording and limiting it, when the model costs nothing. */
export const answersThroughput: Scenario = {
  name: 'answers-throughput',
  about,
  run: measureThroughput({ ORGANIZATION_ANSWERS_IN_FLIGHT: String(10 * connections) }, { throughput: 0.8, p50: 1.5, p99: 2 }),
};

/** The same where half of the answers wait for the end of another: one organization has 50 in flight by default. */
export const answersLimited: Scenario = {
  name: 'answers-limited',
  about: `${about}, with the default limit of answers in flight`,
  run: measureThroughput({}, { throughput: 0.6, p50: 2, p99: 2.5 }),
};

interface Bounds {
  readonly throughput: number;
  readonly p50: number;
  readonly p99: number;
}

function measureThroughput(settings: Readonly<Record<string, string>>, bounds: Bounds): Scenario['run'] {
  return async (say) => {
    const bench = await startAnswersSystem(0, settings);
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
          { name: 'answers a second, of the floor', measured: median(throughput), atLeast: bounds.throughput },
          { name: 'p50, times the floor', measured: median(p50), atMost: bounds.p50 },
          { name: 'p99, times the floor', measured: median(p99), atMost: bounds.p99 },
        ],
        figures: { connections, rounds, throughput, p50, p99 },
      };
    } finally {
      await floor.stop();
      await bench.stop();
    }
  };
}
