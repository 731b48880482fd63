import { runProcess } from '@agent-service/runtime';
import { readAgentsConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('agents', readAgentsConfig, start);
