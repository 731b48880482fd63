import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { testFolder } from '../infrastructure/run-folder.ts';
import { until } from '../until.ts';

const settings = { SERVICE_SECRET: 's'.repeat(40), CURSOR_SECRET: 'c'.repeat(40), AGENTS_ADDRESS: '127.0.0.1:1' };

test('a service process ends with the process that started it, so that nothing holds the output of a killed worker of Jest', async () => {
  const program = join(await testFolder(), 'starter.mjs');
  const library = new URL('./service-process.ts', import.meta.url).href;
  writeFileSync(
    program,
    `const { serviceProcess } = await import(${JSON.stringify(library)});
     const service = await serviceProcess('templates', ${JSON.stringify(settings)});
     await service.start('alive');
     console.log(service.opsUrl);`,
  );
  const starter = spawn(process.execPath, [program], { env: process.env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(starter.stdout, 'data')) as [Buffer];
  const answers = () =>
    fetch(`${line.toString().trim()}/livez`).then(
      () => true,
      () => false,
    );
  expect(await answers()).toBe(true);
  const closed = once(starter, 'close');
  starter.kill('SIGKILL');
  await until('the service has ended', async () => !(await answers()));
  // The last process that holds the starter's output has ended.
  await closed;
});
