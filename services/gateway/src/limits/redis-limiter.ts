import { type Batcher, createBatcher } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import { type Decision, hashTag, type Limiter, type Rule } from './limiter.ts';
import type { LimiterRedis } from './redis.ts';
import { windowMs } from './window.ts';

const maxBatch = 100;
const maxBatchers = 10_000;

/**
 * The limits shared by all gateways, in one round trip. Requests of one organization that come while a call is out
 * travel together: their counters live in one slot, and a busy organization costs Redis a call a batch and not a call a request.
 */
export function createRedisLimiter(redis: LimiterRedis): Limiter {
  const batchers = new LRUCache<string, Batcher<readonly Rule[], Decision>>({
    max: maxBatchers,
    memoMethod: () => createBatcher({ maxItems: maxBatch, run: (requests) => takeAll(redis, requests) }),
  });
  return { take: (rules) => batchers.memo(hashTag(rules)).add(rules) };
}

async function takeAll({ take }: LimiterRedis, requests: readonly (readonly Rule[])[]): Promise<Decision[]> {
  const counters = new Map(requests.flat().map((rule) => [rule.key, rule]));
  const keys = [...counters.keys()];
  const limits = [...counters.values()].map(({ policy }) => policy.limit);
  const places = new Map(keys.map((key, index) => [key, index + 1]));
  const checks = requests.flatMap((rules) => [
    rules.length,
    ...rules.map(({ key, onlyChecked }) => (places.get(key) as number) * (onlyChecked ? -1 : 1)),
  ]);
  const answer = await take(keys, [windowMs, ...limits, ...checks]);
  let at = 0;
  const next = () => answer[at++] as number;
  return requests.map((rules) => ({
    allowed: next() === 1,
    standings: rules.map(({ policy }) => ({ policy, count: next(), resetMs: next() })),
  }));
}
