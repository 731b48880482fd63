import { setting } from '@agent-service/runtime/config';
import { z } from 'zod';
import { parseNodes } from './redis/nodes.ts';

const redisUrl = setting.text().superRefine((value, context) => {
  try {
    parseNodes(value);
  } catch (cause) {
    context.addIssue((cause as Error).message);
  }
});

/** Where Redis is: one node, or several separated by commas. What they are is asked of them unless REDIS_MODE says. */
export const redisSettings = {
  REDIS_URL: redisUrl,
  REDIS_MODE: z.enum(['auto', 'single', 'sentinel', 'cluster'], 'must be auto, single, sentinel or cluster').default('auto'),
  /** The name under which sentinels know the primary; needed only when they watch over several. */
  REDIS_SENTINEL_MASTER: setting.text().optional(),
};

const schema = z.object(redisSettings);
export type RedisConfig = z.output<typeof schema>;
