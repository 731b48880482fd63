import { serverSettings } from '@agent-service/contracts';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

const schema = z.object({
  ...processSettings,
  ...serverSettings,
  CURSOR_SECRET: setting.secret(),
  AGENTS_ADDRESS: setting.text(),
  /** Contains the prices of the tiers. */
  MODELS_FILE: setting.text().optional(),
  /** A folder with the operator's templates, in addition to those that come with the service. */
  TEMPLATES_DIR: setting.text().optional(),
});

export type TemplatesConfig = z.output<typeof schema>;

export const readTemplatesConfig = (env: NodeJS.ProcessEnv): TemplatesConfig => readConfig(schema, env);
