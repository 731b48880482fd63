// Logs to a standard output that accepts nothing, works on for a while, and ends.
import { setTimeout as pause } from 'node:timers/promises';
import { createLogger } from '../src/log.ts';

const logger = createLogger('test', 'info');
for (let count = 0; count < 200; count++) logger.info({ event: 'step', count, filler: 'x'.repeat(1_000) });
await pause(300);
process.stderr.write('works\n');
process.exit(3);
