import { runProcess } from '@agent-service/runtime';
import { readWebhooksConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('webhooks', readWebhooksConfig, start);
