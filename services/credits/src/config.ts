import { serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { databaseSettings } from '@agent-service/store';
import { z } from 'zod';

export const creditsSettings = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  CURSOR_SECRET: setting.secrets().describe('The key that authenticates the cursors of pages.'),
  IDENTITY_ADDRESS: setting.text().describe('Address of `identity`.'),
  MODELS_FILE: setting
    .text()
    .optional()
    .describe(
      "The tiers' model providers, fallbacks and prices; see [models and prices](../guides/models-and-prices.md). Without it the built-in model answers at the default prices.",
    ),
  ...webhooksClientSettings,
});

export type CreditsConfig = z.output<typeof creditsSettings>;

export const readCreditsConfig = (env: NodeJS.ProcessEnv): CreditsConfig => readConfig(creditsSettings, env);
