import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { askSteadily } from '../answers/asks.ts';
import { startAnswersSystem } from '../answers/system.ts';
import type { Scenario } from '../scenario.ts';

const answers = 10_000;
const inFlight = 100;

/** Redis holds a window of the queue and nothing of what is done. */
export const answersRedisMemory: Scenario = {
  name: 'answers-redis-memory',
  about: `what Redis holds after ${answers} answered messages, against what it held before them`,
  async run(say) {
    const bench = await startAnswersSystem(0);
    const redis = new Redis(bench.system.endpoints['redis'] ?? '');
    try {
      const { key, messages } = await bench.organization('Memory');
      const question = { url: `${bench.system.url}${messages}`, key };
      const some = (seconds: number) => askSteadily({ question, inFlight, seconds, rampMs: 100 });
      await some(3);
      const before = await settledMemory(redis);
      let done = 0;
      while (done < answers) done += (await some(5)).length;
      const after = await settledMemory(redis);
      say(`${done} answers; ${before} bytes before, ${after} after, ${await redis.dbsize()} keys`);
      return {
        promises: [{ name: 'memory after, of that before', measured: after / before, atMost: 1.1 }],
        figures: { answers: done, before, after, keys: await redis.dbsize() },
      };
    } finally {
      redis.disconnect();
      await bench.stop();
    }
  },
};

/** As Redis itself says, once the connections that came for the load are gone. */
async function settledMemory(redis: Redis): Promise<number> {
  await pause(2_000);
  const info = await redis.info('memory');
  return Number(/used_memory:(\d+)/.exec(info)?.[1]);
}
