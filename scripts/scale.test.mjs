// The simulation behind docs/scale.md: its laws hold for any seed.
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { createRandom, simulateAnswers, simulateShards } from './scale/simulate.mjs';
import { processorsTable } from './scale/tables.mjs';

const seed = Number(process.env.TEST_SEED || Math.floor(Math.random() * 1e9));
process.stdout.write(`scripts/scale.test.mjs: TEST_SEED=${seed}\n`);
const few = { seed, perSecond: 100, seconds: 30, organizations: 500 };

test('random numbers are even, and the same for a seed', () => {
  const numbers = Array.from({ length: 20_000 }, createRandom(seed));
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.02);
  expect(Array.from({ length: 5 }, createRandom(seed))).toEqual(numbers.slice(0, 5));
});

test('every message is answered, for any number of workers', () => {
  for (const workers of [1, 2, 8]) {
    const { arrivals, answered } = simulateAnswers({ ...few, workers });
    expect(answered).toBe(arrivals);
  }
});

test('places in use follow the rate and the mean time of an answer', () => {
  const { utilization } = simulateAnswers({ ...few, workers: 4 });
  // 100 a second for 4 s each on 800 places, as far as 3,000 messages with long tails say.
  expect(utilization).toBeGreaterThan(0.4);
  expect(utilization).toBeLessThan(0.6);
});

test('messages wait where places are short, and not where there are twice as many as needed', () => {
  expect(simulateAnswers({ ...few, workers: 1 }).waitP50).toBeGreaterThan(1);
  expect(simulateAnswers({ ...few, workers: 4, inFlight: 10_000 }).waitP99).toBe(0);
});

test('one organization that sends everything is held back by its own limit, at any number of workers', () => {
  const { waitP50, heldBack } = simulateAnswers({ ...few, organizations: 1, workers: 50 });
  expect(waitP50).toBeGreaterThan(1);
  expect(heldBack).toBeGreaterThan(0.5);
});

test('shards are the less even the more there are', () => {
  const fullest = [1, 8, 256].map((shards) => simulateShards({ seed, shards }).fullest);
  expect(fullest[0]).toBeCloseTo(1);
  expect(fullest[1]).toBeLessThan(fullest[2]);
});

test('the guide to scaling names the cost of an answer that the tables are made from', () => {
  const guide = readFileSync('docs/operations/upgrade.md', 'utf8');
  const costs = [...processorsTable().matchAll(/^\| (\S+) \| (\d[\d.]*) \|/gm)].map(([, part, ms]) => [part, ms]);
  expect(costs.length).toBeGreaterThan(5);
  const named = costs.map(([part]) => [part, new RegExp(`^\\| ${part} \\| [^|]+ \\| ([\\d.]+)`, 'm').exec(guide)?.[1]]);
  expect(named).toEqual(costs);
});
