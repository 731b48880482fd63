import { certificateFile, clientSettings } from '@agent-service/contracts';
import { networksSetting } from '@agent-service/outbound';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

export const dispatcherSettings = z.object({
  ...processSettings,
  ...clientSettings,
  ...redisSettings,
  WEBHOOKS_ADDRESS: setting.text().describe('Address of `webhooks`.'),
  WEBHOOK_ALLOWED_NETWORKS: networksSetting().describe('Private networks that webhooks may lead to, as `10.2.0.0/16,fd00:1::/64`.'),
  WEBHOOK_CA_FILE: certificateFile()
    .optional()
    .describe("Authorities (PEM) that receivers' certificates may be signed by, besides the public ones."),
  DELIVERY_JOBS_AT_ONCE: setting
    .integer(512, 1, 10_000)
    .describe('Jobs that one dispatcher runs at once; a job has deliveries of up to 8 webhooks.'),
});

export type DispatcherConfig = z.output<typeof dispatcherSettings>;

export const readDispatcherConfig = (env: NodeJS.ProcessEnv): DispatcherConfig => readConfig(dispatcherSettings, env);
