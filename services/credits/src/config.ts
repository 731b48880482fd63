import { serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { databaseSettings } from '@agent-service/store';
import { z } from 'zod';

const schema = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  CURSOR_SECRET: setting.secret(),
  IDENTITY_ADDRESS: setting.text(),
  MODELS_FILE: setting.text().optional(),
  ...webhooksClientSettings,
});

export type CreditsConfig = z.output<typeof schema>;

export const readCreditsConfig = (env: NodeJS.ProcessEnv): CreditsConfig => readConfig(schema, env);
