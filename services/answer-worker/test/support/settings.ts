import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testFolder } from '@agent-service/testkit';

export const secret = 'a-service-secret-that-is-long-enough';

export interface Surroundings {
  readonly agentsAddress: string;
  readonly redisUrl: string;
  readonly modelUrl: string;
  /** Asked where the first gives no answer. */
  readonly spareModelUrl?: string;
}

/** The settings of a worker among these: one model answers all tiers. */
export async function settingsFor(
  { agentsAddress, redisUrl, modelUrl, spareModelUrl }: Surroundings,
  more: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const file = join(await testFolder(), 'models.json');
  const endpoint = { provider: 'openai-compatible', base_url: modelUrl, model: 'm' };
  const tier = { ...endpoint, ...(spareModelUrl !== undefined && { fallbacks: [{ ...endpoint, base_url: spareModelUrl }] }) };
  await writeFile(file, JSON.stringify({ tiers: { Fast: tier, Smart: tier, Expert: tier, Premium: tier } }));
  return {
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: 'silent',
    SERVICE_SECRET: secret,
    AGENTS_ADDRESS: agentsAddress,
    REDIS_URL: redisUrl,
    MODELS_FILE: file,
    ...more,
  };
}
