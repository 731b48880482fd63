import { runProcess } from '@agent-service/runtime';
import { readAnswerWorkerConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('answer-worker', readAnswerWorkerConfig, start);
