import { runProcess } from '@agent-service/runtime';
import { readPortalConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('portal', readPortalConfig, start);
