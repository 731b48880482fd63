/** A process that holds the system which test files share: `node system-host.ts <settings as JSON> <file>`. */
import { once } from 'node:events';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { seed } from '@agent-service/local/seed';
import { catalogue } from '@agent-service/local/system/catalogue';
import type { HostedSystem } from './shared-system.ts';
import { testSystem } from './test-system.ts';

/** An idle system costs a tenth of a core. The next file of a worker comes sooner than this, if it comes. */
const unusedLimitMs = 30_000;

const [settings = '{}', file = ''] = process.argv.slice(2);
const { processes: _, stop, ...access } = await testSystem(JSON.parse(settings) as Record<string, string>, { seed, catalogue });

let unused: NodeJS.Timeout | undefined;
const leases = createServer((lease) => {
  clearTimeout(unused);
  lease.on('error', () => undefined);
  lease.once('close', stopWhenUnused);
  lease.write('.');
});
leases.listen(0, '127.0.0.1');
await once(leases, 'listening');
const hosted: HostedSystem = { ...access, leasePort: (leases.address() as AddressInfo).port };
// Readers see the whole file or none.
writeFileSync(`${file}.draft`, JSON.stringify(hosted), { mode: 0o600 });
renameSync(`${file}.draft`, file);
process.once('SIGTERM', () => void end());
stopWhenUnused();

function stopWhenUnused(): void {
  clearTimeout(unused);
  unused = setTimeout(() => leases.getConnections((_error, count) => count === 0 && void end()), unusedLimitMs);
}

async function end(): Promise<void> {
  rmSync(file, { force: true });
  leases.close();
  await stop();
  process.exit(0);
}
