import { runProcess } from '@agent-service/runtime';
import { readGatewayConfig } from './config.ts';
import { start } from './start.ts';

await runProcess('gateway', readGatewayConfig, start);
