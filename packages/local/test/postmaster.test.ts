import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { freePort } from '../src/host/ports.ts';
import { preparePostgres } from '../src/postgres/server.ts';
import { manage } from '../src/processes/managed.ts';

test('PostgreSQL starts again after a death though another program has the pid of its former server', async () => {
  // Not in DATA_DIR's usual place: PostgreSQL runs as another user, who must get through to it.
  const folder = mkdtempSync(join(tmpdir(), 'postmaster-'));
  chmodSync(folder, 0o711);
  const data = join(folder, 'data');
  const spec = await preparePostgres({ folder: data, port: await freePort(), profile: 'throwaway', password: 'postgres' });
  const pidFile = join(data, 'postmaster.pid');
  let lives = 0;
  const managed = manage(
    {
      ...spec,
      prepare: async () => {
        lives++;
        // After the death, this test's own process is found under the former pid.
        if (lives > 1) writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(process.pid)));
        await spec.prepare?.();
      },
    },
    { logFolder: folder, began: () => undefined, ended: () => undefined, report: () => undefined },
  );
  await managed.start();
  const { pid } = managed;
  managed.kill('SIGKILL');
  await until('PostgreSQL runs again', async () => managed.pid !== undefined && managed.pid !== pid && (await spec.isReady()));
  expect(Number(readFileSync(pidFile, 'utf8').split('\n')[0])).toBe(managed.pid);
  await managed.stop();
  rmSync(folder, { recursive: true, force: true });
});
