import { runProcess } from '@agent-service/runtime';
import { readTemplatesConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('templates', readTemplatesConfig, start);
