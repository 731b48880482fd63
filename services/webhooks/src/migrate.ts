import { runMigrations } from '@agent-service/store/run-migrations';
import { migrations } from './store/migrations/index.ts';

await runMigrations({ schema: 'webhooks', migrations });
