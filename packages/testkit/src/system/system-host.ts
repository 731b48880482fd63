/** A process that holds the system which test files share: `node system-host.ts <settings as JSON> <file>`. */
import { renameSync, writeFileSync } from 'node:fs';
import { seed } from '@agent-service/local/seed';
import { testSystem } from './test-system.ts';

const [settings = '{}', file = ''] = process.argv.slice(2);
const { processes: _, stop, ...access } = await testSystem(JSON.parse(settings) as Record<string, string>, { seed });
process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
// Readers see the whole file or none.
writeFileSync(`${file}.draft`, JSON.stringify({ ...access, pid: process.pid }), { mode: 0o600 });
renameSync(`${file}.draft`, file);
setInterval(() => undefined, 60_000);
