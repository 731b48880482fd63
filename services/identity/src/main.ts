import { runProcess } from '@agent-service/runtime';
import { readIdentityConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('identity', readIdentityConfig, start);
