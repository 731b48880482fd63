// The tables of docs/scale.md.
import { simulateAnswers, simulateShards } from './simulate.mjs';

/** A table of markdown. */
export const table = (head, rows) => {
  const [names, ...lines] = [head, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [names, `|${head.map(() => '---|').join('')}`, ...lines].join('\n');
};
const percent = (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
const seconds = (time) => `${time.toFixed(2)} s`;

const loads = [
  { perSecond: 50, workers: [1, 2] },
  { perSecond: 200, workers: [4, 5, 6] },
  { perSecond: 1_000, workers: [20, 22, 25] },
];

/** Waiting for a place by the rate of messages and the number of workers. */
export function answersTable(seed) {
  const rows = loads.flatMap(({ perSecond, workers }) =>
    workers.map((count) => {
      const { utilization, heldBack, waitP50, waitP99 } = simulateAnswers({ seed, perSecond, workers: count });
      return [perSecond, count, percent(utilization), seconds(waitP50), seconds(waitP99), percent(heldBack)];
    }),
  );
  return table(['messages a second', 'workers', 'places in use', 'wait, p50', 'wait, p99', 'held back by their own limit'], rows);
}

/** How uneven shards are, in the mean and at worst of a hundred hashes. */
export function shardsTable(seed) {
  const rows = [4, 16, 64].map((shards) => {
    const fullest = Array.from({ length: 100 }, (_, index) => simulateShards({ seed: seed * 1_000 + index, shards }).fullest);
    const mean = fullest.reduce((sum, value) => sum + value, 0) / fullest.length;
    return [shards, mean.toFixed(2), Math.max(...fullest).toFixed(2)];
  });
  return table(['shards', 'fullest shard, mean', 'fullest shard, worst of 100'], rows);
}

/** Processor time of an answer at 100 connections, in milliseconds (docs/performance.md, commit 6e4e6ef). */
const costs = { gateway: 0.19, agents: 0.25, credits: 0.12, 'answer-worker': 0.18, PostgreSQL: 0.39, Redis: 0.02 };
const utilization = 0.6;

/** Processors of each part at a utilization of 60 %, from the measured cost of an answer. */
export function processorsTable() {
  const rates = [50, 200, 1_000, 5_000];
  const rows = Object.entries(costs).map(([part, ms]) => [
    part,
    ms,
    ...rates.map((rate) => ((rate * ms) / 1_000 / utilization).toFixed(2)),
  ]);
  return table(['part', 'ms an answer', ...rates.map((rate) => `${rate.toLocaleString('en')} a second`)], rows);
}
