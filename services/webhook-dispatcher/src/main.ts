import { runProcess } from '@agent-service/runtime';
import { readDispatcherConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('webhook-dispatcher', readDispatcherConfig, start);
