import { clientSettings } from '@agent-service/contracts';
import { networksSetting } from '@agent-service/outbound';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

const schema = z.object({
  ...processSettings,
  ...clientSettings,
  ...redisSettings,
  WEBHOOKS_ADDRESS: setting.text(),
  WEBHOOK_ALLOWED_NETWORKS: networksSetting(),
  /** Certificates of authorities that sign receivers' certificates, besides the default ones. */
  WEBHOOK_CA_FILE: setting.text().optional(),
  /** How many jobs run at once; a job has deliveries of up to 8 webhooks. */
  DELIVERY_JOBS_AT_ONCE: setting.integer(512, 1, 10_000),
});

export type DispatcherConfig = z.output<typeof schema>;

export const readDispatcherConfig = (env: NodeJS.ProcessEnv): DispatcherConfig => readConfig(schema, env);
