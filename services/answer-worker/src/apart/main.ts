import { runProcess } from '@agent-service/runtime';
import { readAnswerWorkerConfig } from '../config.ts';
import { startApart } from './start.ts';

await runProcess('answer-worker-apart', (env) => readAnswerWorkerConfig({ ...env, OPS_PORT: '0', DRAIN_DELAY_MS: '0' }), startApart);
