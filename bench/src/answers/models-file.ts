import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A MODELS_FILE whose every tier is this one model. */
export function writeModelsFile(folder: string, baseUrl: string): string {
  const tier = { provider: 'openai-compatible', base_url: baseUrl, model: 'm', timeout_ms: 60_000 };
  const file = join(folder, 'models.json');
  writeFileSync(file, JSON.stringify({ tiers: { Fast: tier, Smart: tier, Expert: tier, Premium: tier } }));
  return file;
}
