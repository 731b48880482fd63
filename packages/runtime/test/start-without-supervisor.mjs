// Ends its start when its standard input ends, and has seen no other event in between.
import { readSync, writeSync } from 'node:fs';
import { runProcess } from '../src/index.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 };

await runProcess(
  'test',
  () => settings,
  async ({ onStop }) => {
    onStop('work', () => void writeSync(1, 'work is returned\n'));
    writeSync(1, 'starting\n');
    readSync(0, Buffer.alloc(1));
  },
);
