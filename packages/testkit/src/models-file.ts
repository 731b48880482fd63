import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testFolder } from './infrastructure/run-folder.ts';

/** A file for MODELS_FILE in which the model at this URL answers all tiers. */
export async function modelsFileFor({ url }: { readonly url: string }): Promise<string> {
  const file = join(await testFolder(), 'models.json');
  const tier = { provider: 'openai-compatible', base_url: url, model: 'scripted' };
  await writeFile(file, JSON.stringify({ tiers: { Fast: tier, Smart: tier, Expert: tier, Premium: tier } }));
  return file;
}
