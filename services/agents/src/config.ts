import { dataSourceSettings } from '@agent-service/business-data/database/settings';
import { serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { cursorSettings, databaseSettings, encryptionSettings } from '@agent-service/store';
import { z } from 'zod';

export const agentsSettings = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...redisSettings,
  ...encryptionSettings,
  ...cursorSettings,
  IDENTITY_ADDRESS: setting.text().describe('Address of `identity`.'),
  CREDITS_ADDRESS: setting.text().describe('Address of `credits`.'),
  ...webhooksClientSettings,
  ...dataSourceSettings,
  ORGANIZATION_ANSWERS_IN_FLIGHT: setting.integer(50, 1, 10_000).describe('Answers of an organization and environment that run at once.'),
  ORGANIZATION_ANSWERS_WAITING: setting
    .integer(10_000, 1, 1_000_000)
    .describe('Answers of an organization and environment that may wait; more messages get 429 `too_many_waiting`.'),
  ANSWER_DEADLINE_SECONDS: setting
    .integer(300, 5, 3_600)
    .describe('Counted from acceptance; an answer that is not complete by then has failed and costs nothing.'),
});

export type AgentsConfig = z.output<typeof agentsSettings>;

export const readAgentsConfig = (env: NodeJS.ProcessEnv): AgentsConfig => readConfig(agentsSettings, env);
