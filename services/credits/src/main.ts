import { runProcess } from '@agent-service/runtime';
import { readCreditsConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('credits', readCreditsConfig, start);
