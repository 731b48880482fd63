import type { Scenario } from '../scenario.ts';
import { agentsList } from './agents-list.ts';
import { analyst } from './analyst.ts';
import { answersFairness } from './answers-fairness.ts';
import { answersInFlight } from './answers-in-flight.ts';
import { answersAlone, answersLatency } from './answers-latency.ts';
import { answersRedisMemory } from './answers-redis-memory.ts';
import { answersLimited, answersThroughput } from './answers-throughput.ts';
import { authenticatedGet, authenticatedList } from './authenticated-reads.ts';
import { creditsHot } from './credits-hot.ts';
import { creditsUsage } from './credits-usage.ts';
import { profile } from './profile.ts';
import { queryGates } from './query-gates.ts';
import { start } from './start.ts';
import { webhooks } from './webhooks.ts';

/** Every scenario of `npm run bench`. */
export const scenarios: readonly Scenario[] = [
  authenticatedGet,
  authenticatedList,
  creditsHot,
  creditsUsage,
  agentsList,
  answersThroughput,
  answersLimited,
  answersLatency,
  answersAlone,
  answersInFlight,
  answersFairness,
  answersRedisMemory,
  webhooks,
  queryGates,
  analyst,
  profile,
  start,
];
