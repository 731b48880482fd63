import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAnswersFloor } from '../answers/floor.ts';
import { startAnswersSystem } from '../answers/system.ts';
import { load } from '../load.ts';
import { readProcessorTimes } from '../processor.ts';
import { median, type Scenario } from '../scenario.ts';

const warmUpSeconds = 10;
const seconds = 6;
const rounds = 5;
const widths = [100, 1] as const;
const body = { message: 'How did the last month go?' };

/** Milliseconds of processor time for one answer, by process. */
type Cost = Readonly<Record<string, number>>;

const sum = (cost: Cost): number => Object.values(cost).reduce((total, milliseconds) => total + milliseconds, 0);

async function measureCost(pids: Readonly<Record<string, number>>, run: () => Promise<{ perSecond: number }>): Promise<Cost> {
  const before = readProcessorTimes(pids);
  const { perSecond } = await run();
  const after = readProcessorTimes(pids);
  const answers = perSecond * seconds;
  return Object.fromEntries(Object.keys(after).map((name) => [name, ((after[name] ?? 0) - (before[name] ?? 0)) / answers]));
}

const medianCost = (costs: readonly Cost[]): Cost =>
  Object.fromEntries(Object.keys(costs[0] ?? {}).map((name) => [name, median(costs.map((cost) => cost[name] ?? 0))]));

const describe = (cost: Cost): string =>
  Object.entries(cost)
    .filter(([, milliseconds]) => milliseconds >= 0.01)
    .sort(([, a], [, b]) => b - a)
    .map(([name, milliseconds]) => `${name} ${milliseconds.toFixed(2)}`)
    .join(', ');

/** The processor time of an answer, read from the system for whole processes, beside that of the floor. */
export const profile: Scenario = {
  name: 'profile',
  about: `milliseconds of processor time for an answer by process, ${widths.join(' and ')} connections, model at once, beside the floor's`,
  async run(say) {
    const bench = await startAnswersSystem(0, { ORGANIZATION_ANSWERS_IN_FLIGHT: '1000' });
    const floor = await startAnswersFloor({
      databaseUrl: bench.system.endpoints['postgres'] ?? '',
      redisUrl: bench.system.endpoints['redis'] ?? '',
      modelUrl: bench.modelUrl,
    });
    try {
      const { key, messages } = await bench.organization('Profile');
      const headers = { authorization: `Bearer ${key}` };
      const pids = JSON.parse(readFileSync(join(bench.dataDir, 'processes.json'), 'utf8')) as Record<string, number>;
      const { postgres = 0, redis = 0 } = pids;
      const floorPids = { ...floor.pids, postgres, redis };
      const figures: Record<string, number> = {};
      for (const connections of widths) {
        const ours = (length: number) => load({ url: `${bench.system.url}${messages}`, headers, body, connections, seconds: length });
        const bare = (length: number) => load({ url: floor.url, body, connections, seconds: length });
        await ours(warmUpSeconds);
        await bare(warmUpSeconds);
        const costs: { ours: Cost; floor: Cost }[] = [];
        for (let round = 0; round < rounds; round += 1) {
          costs.push({ ours: await measureCost(pids, () => ours(seconds)), floor: await measureCost(floorPids, () => bare(seconds)) });
        }
        for (const side of ['ours', 'floor'] as const) {
          const cost = medianCost(costs.map((pair) => pair[side]));
          const total = median(costs.map((pair) => sum(pair[side])));
          say(`${side} at ${connections}: ${total.toFixed(2)} ms an answer: ${describe(cost)}`);
          figures[`${side} at ${connections}`] = total;
          for (const [name, milliseconds] of Object.entries(cost)) figures[`${side} at ${connections}: ${name}`] = milliseconds;
        }
      }
      return { promises: [], figures };
    } finally {
      await floor.stop();
      await bench.stop();
    }
  },
};
