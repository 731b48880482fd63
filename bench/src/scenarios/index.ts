import type { Scenario } from '../scenario.ts';
import { agentsList } from './agents-list.ts';
import { analyst } from './analyst.ts';
import { answersFairness } from './answers-fairness.ts';
import { answersInFlight } from './answers-in-flight.ts';
import { answersLatency } from './answers-latency.ts';
import { answersRedisMemory } from './answers-redis-memory.ts';
import { answersThroughput } from './answers-throughput.ts';
import { authenticatedGet } from './authenticated-get.ts';
import { creditsHot } from './credits-hot.ts';
import { creditsUsage } from './credits-usage.ts';
import { profile } from './profile.ts';
import { queryGates } from './query-gates.ts';
import { start } from './start.ts';
import { webhooks } from './webhooks.ts';

/** Every scenario of `npm run bench`. */
export const scenarios: readonly Scenario[] = [
  authenticatedGet,
  creditsHot,
  creditsUsage,
  agentsList,
  answersThroughput,
  answersLatency,
  answersInFlight,
  answersFairness,
  answersRedisMemory,
  webhooks,
  queryGates,
  analyst,
  profile,
  start,
];
