import { serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { databaseSettings, encryptionSettings } from '@agent-service/store';
import { z } from 'zod';

const schema = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...redisSettings,
  ...encryptionSettings,
  CURSOR_SECRET: setting.secret(),
  IDENTITY_ADDRESS: setting.text(),
  CREDITS_ADDRESS: setting.text(),
  ...webhooksClientSettings,
  ORGANIZATION_ANSWERS_IN_FLIGHT: setting.integer(50, 1, 10_000),
  ORGANIZATION_ANSWERS_WAITING: setting.integer(10_000, 1, 1_000_000),
  ANSWER_DEADLINE_SECONDS: setting.integer(300, 5, 3_600),
});

export type AgentsConfig = z.output<typeof schema>;

export const readAgentsConfig = (env: NodeJS.ProcessEnv): AgentsConfig => readConfig(schema, env);
