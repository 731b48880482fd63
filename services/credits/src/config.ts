import { serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { modelsSettings } from '@agent-service/models/models-file';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { cursorSettings, databaseSettings } from '@agent-service/store';
import { z } from 'zod';

export const creditsSettings = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...cursorSettings,
  IDENTITY_ADDRESS: setting.text().describe('Address of `identity`.'),
  ...modelsSettings,
  ...webhooksClientSettings,
});

export type CreditsConfig = z.output<typeof creditsSettings>;

export const readCreditsConfig = (env: NodeJS.ProcessEnv): CreditsConfig => readConfig(creditsSettings, env);
