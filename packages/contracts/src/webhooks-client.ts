import { ConfigurationError, type ProcessContext, setting } from '@agent-service/runtime';
import { createClient } from './client.ts';
import type { ClientConfig } from './settings.ts';
import type { Client } from './types.ts';

/** Settings of every process that calls the webhooks service where it is enabled. */
export const webhooksClientSettings = { WEBHOOKS_ENABLED: setting.flag(false), WEBHOOKS_ADDRESS: setting.text().optional() };

export interface WebhooksClientConfig extends ClientConfig {
  WEBHOOKS_ENABLED: boolean;
  WEBHOOKS_ADDRESS?: string | undefined;
}

/** The client of the webhooks service for the service of this name; undefined where webhooks are off. */
export function openWebhooksClient(process: ProcessContext, config: WebhooksClientConfig, as: string): Client<'webhooks'> | undefined {
  if (!config.WEBHOOKS_ENABLED) return undefined;
  const address = config.WEBHOOKS_ADDRESS;
  if (!address) throw new ConfigurationError('These settings need attention:\n  WEBHOOKS_ADDRESS: is required with WEBHOOKS_ENABLED=true');
  const webhooks = createClient('webhooks', { address, as, config });
  process.onStop('webhooks client', async () => webhooks.close());
  return webhooks;
}
