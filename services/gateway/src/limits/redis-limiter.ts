import { type Decision, hashTag, type Limiter, type Rule, windowMs } from '@agent-service/http/limits/limits';
import type { RedisClient, RedisConnections } from '@agent-service/queues';
import { type Batcher, createBatcher, withTimeout } from '@agent-service/work';
import { LRUCache } from 'lru-cache';

/** How long Redis may take to count, unless a test is more patient: a gateway that limits by itself replies sooner. */
const usualLimitMs = 250;

interface LimiterRedis {
  /** Runs the script over these counters: a reply within the time limit, or a failure. */
  take(keys: readonly string[], args: readonly number[]): Promise<number[]>;
}

type Command = (...keysAndArguments: (string | number)[]) => Promise<number[]>;

export function createLimiterRedis(redis: Pick<RedisConnections, 'commands'>, limitMs = usualLimitMs): LimiterRedis {
  return {
    take: (keys, args) =>
      withTimeout(commandFor(redis.commands, keys.length)(...keys, ...args), limitMs, () => new Error('Redis took too long to count')),
  };
}

/** A command for each number of keys: only then does the client know where the keys are, which a cluster needs. */
function commandFor(client: RedisClient, numberOfKeys: number): Command {
  const name = `take${numberOfKeys}`;
  const commands = client as unknown as Record<string, Command | undefined>;
  if (!commands[name]) client.defineCommand(name, { numberOfKeys, lua: takeScript });
  return (commands[name] as Command).bind(client);
}

const maxBatch = 100;
/** A batcher takes 4 KB and is useful only while a call is out, so the least recently used ones are dropped. */
const maxBatchers = 1_000;

/** A request that waits for its turn. */
interface Waiting {
  readonly rules: readonly Rule[];
  readonly since: number;
}

/**
 * The limits shared by all gateways, in one round trip. Requests of one organization that come while a call is out
 * are sent as one call: their counters are in one slot, so a busy organization costs Redis a call for each batch and not for each request.
 */
export function createRedisLimiter(redis: LimiterRedis, now: () => number = () => performance.now()): Limiter {
  const batchers = new LRUCache<string, Batcher<Waiting, Decision>>({
    max: maxBatchers,
    memoMethod: () => createBatcher({ maxItems: maxBatch, run: failTogether(redis, now) }),
  });
  return { take: (rules) => batchers.memo(hashTag(rules)).add({ rules, since: now() }) };
}

/** Requests that waited for a call which failed fail with it: while Redis hangs, each further call would keep the rest waiting for as long. */
function failTogether(redis: LimiterRedis, now: () => number): (waiting: readonly Waiting[]) => Promise<(Decision | Error)[]> {
  let failure: { readonly cause: Error; readonly at: number } | undefined;
  return async (waiting) => {
    const before = failure;
    if (before && waiting.some(({ since }) => since <= before.at)) return waiting.map(() => before.cause);
    try {
      return await takeAll(
        redis,
        waiting.map(({ rules }) => rules),
        now,
      );
    } catch (cause) {
      failure = { cause: cause as Error, at: now() };
      throw cause;
    }
  };
}

async function takeAll({ take }: LimiterRedis, requests: readonly (readonly Rule[])[], now: () => number): Promise<Decision[]> {
  const keys: string[] = [];
  const limits: number[] = [];
  const checks: number[] = [];
  /** The position of each counter in KEYS, counted from 1 as Lua does. */
  const positions = new Map<string, number>();
  function positionOf({ key, policy }: Rule): number {
    let position = positions.get(key);
    if (position === undefined) {
      position = keys.push(key);
      limits.push(policy.limit);
      positions.set(key, position);
    }
    return position;
  }
  for (const rules of requests) {
    checks.push(rules.length);
    for (const rule of rules) checks.push(rule.onlyChecked ? -positionOf(rule) : positionOf(rule));
  }
  const reply = await take(keys, [windowMs, ...limits, ...checks]);
  const countedAt = now();
  let at = 0;
  const next = () => reply[at++] as number;
  return requests.map((rules) => ({
    allowed: next() === 1,
    states: rules.map(({ policy }) => ({ policy, count: next(), endsAtMs: countedAt + next() })),
  }));
}

/**
 * Does inside Redis what `applyLimits` of local-limiter.ts does, for many requests in order.
 * KEYS: the counters, each once. ARGV: the window in milliseconds, the limit of each counter, and then for each request how many
 * counters apply to it and their indexes in KEYS, negative where a counter is only checked.
 * A counter that would outlast the window begins again: the clock of Redis was put back, or a failover led to a server whose clock is behind.
 * Returns for each request 1 or 0, and count and milliseconds left of each of its counters.
 */
const takeScript = `
local window = tonumber(ARGV[1])
local limits, known, counts, rests = {}, {}, {}, {}
for i, key in ipairs(KEYS) do
  local rest = redis.call('PTTL', key)
  limits[i] = tonumber(ARGV[i + 1])
  local live = rest > 0 and rest <= window
  known[i] = live and tonumber(redis.call('GET', key)) or 0
  counts[i] = known[i]
  rests[i] = live and rest or window
end

local reply = {}
local at = #KEYS + 2
while at <= #ARGV do
  local first, last = at + 1, at + tonumber(ARGV[at])
  local allowed = 1
  for j = first, last do
    local i = math.abs(tonumber(ARGV[j]))
    if counts[i] >= limits[i] then allowed = 0 end
  end
  reply[#reply + 1] = allowed
  for j = first, last do
    local place = tonumber(ARGV[j])
    local i = math.abs(place)
    if place > 0 then counts[i] = counts[i] + allowed end
    reply[#reply + 1] = counts[i]
    reply[#reply + 1] = rests[i]
  end
  at = last + 1
end

for i, key in ipairs(KEYS) do
  if known[i] == 0 and counts[i] > 0 then
    redis.call('SET', key, counts[i], 'PX', window)
  elseif counts[i] > known[i] then
    redis.call('INCRBY', key, counts[i] - known[i])
  end
end
return reply
`;
