import { serverSettings } from '@agent-service/contracts';
import { modelsSettings } from '@agent-service/models/models-file';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { cursorSettings } from '@agent-service/store/cursors';
import { z } from 'zod';
import { loadCatalogue } from './catalogue.ts';

export const templatesSettings = z.object({
  ...processSettings,
  ...serverSettings,
  ...cursorSettings,
  AGENTS_ADDRESS: setting.text().describe('Address of `agents`.'),
  ...modelsSettings,
  TEMPLATES_DIR: setting
    .text()
    .optional()
    .describe('A folder with [templates of your own](../guides/own-templates.md), in addition to those that come with the service.'),
});

export type TemplatesConfig = z.output<typeof templatesSettings>;

export const readTemplatesConfig = (env: NodeJS.ProcessEnv): TemplatesConfig => readConfig(templatesSettings, env);

/**
 * Reads the operator's templates. `npm start` finds this function by its name, before any process starts.
 * @public
 */
export async function checkTemplatesFiles({ TEMPLATES_DIR: folder }: NodeJS.ProcessEnv): Promise<void> {
  if (folder) await loadCatalogue(folder);
}
