import { serverSettings } from '@agent-service/contracts';
import { networksSetting } from '@agent-service/outbound';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { cursorSettings, databaseSettings, encryptionSettings } from '@agent-service/store';
import { z } from 'zod';

export const webhooksSettings = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...encryptionSettings,
  ...redisSettings,
  ...cursorSettings,
  IDENTITY_ADDRESS: setting.text().describe('Address of `identity`.'),
  WEBHOOK_ALLOWED_NETWORKS: networksSetting().describe('Private networks that webhooks may lead to, as `10.2.0.0/16,fd00:1::/64`.'),
  SMTP_URL: setting
    .url('smtp:', 'smtps:')
    .optional()
    .describe(
      'How administrators are told that a webhook was disabled: `smtp://user:password@mail.example.com:587`. Without it the log and the audit log say so.',
    ),
  SMTP_FROM: setting.text().default('Agent Service <agent-service@localhost>').describe('The sender of these mails.'),
});

export type WebhooksConfig = z.output<typeof webhooksSettings>;

export const readWebhooksConfig = (env: NodeJS.ProcessEnv): WebhooksConfig => readConfig(webhooksSettings, env);
