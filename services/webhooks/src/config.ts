import { serverSettings } from '@agent-service/contracts';
import { networksSetting } from '@agent-service/outbound';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { databaseSettings, encryptionSettings } from '@agent-service/store';
import { z } from 'zod';

const schema = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...encryptionSettings,
  ...redisSettings,
  CURSOR_SECRET: setting.secret(),
  IDENTITY_ADDRESS: setting.text(),
  WEBHOOK_ALLOWED_NETWORKS: networksSetting(),
  /** Without it no mail is sent about a disabled webhook; the log and the audit log record it. */
  SMTP_URL: setting.url('smtp:', 'smtps:').optional(),
  SMTP_FROM: setting.text().default('Agent Service <agent-service@localhost>'),
});

export type WebhooksConfig = z.output<typeof schema>;

export const readWebhooksConfig = (env: NodeJS.ProcessEnv): WebhooksConfig => readConfig(schema, env);
