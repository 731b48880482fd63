import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from '@agent-service/testkit';
import { testBuild } from '@agent-service/testkit/infrastructure/settings';
import { expect, test } from '@jest/globals';
import { manage } from '../src/processes/managed.ts';
import { outputTo } from '../src/processes/spec.ts';
import { catalogue } from '../src/system/catalogue.ts';
import { startLocalSystem } from '../src/system/system.ts';
import { ownEnvironment } from './support.ts';

/** The message of a start that is refused. */
async function refusal(build: string | undefined, settings: Record<string, string>): Promise<{ message: string; dataDir: string }> {
  const env = await ownEnvironment(settings);
  const message = await startLocalSystem({ env, catalogue, build }).then(
    async (system) => `started ${await system.stop()}`,
    (cause: Error) => cause.message,
  );
  return { message, dataDir: env['DATA_DIR'] ?? '' };
}

test.each([
  ['the sources', undefined],
  ['the build', testBuild],
])('the faults in the settings of all processes of %s are named once, before any of them starts', async (_, build) => {
  const models = join(await testFolder(), 'models.json');
  writeFileSync(models, '{ "tiers": { "Fast": { "provider": "antropic" } } } // a comment');
  const templates = await testFolder();
  writeFileSync(join(templates, 'own.json'), '{ "id": "tpl_own" }');
  const notes = join(templates, 'notes.txt');
  writeFileSync(notes, 'no certificate');
  const { message, dataDir } = await refusal(build, {
    PORT: 'http',
    SERVICE_SECRET: 'short',
    REPLICAS: 'gateway=many',
    MODELS_FILE: models,
    TOKEN_TTL_SECONDS: '5',
    ANSWER_WAIT_SECONDS: 'soon',
    LOG_LEVEL: 'loud',
    TEMPLATES_DIR: templates,
    GRPC_TLS_CA_FILE: notes,
    GRPC_TLS_KEY_FILE: join(templates, 'none.pem'),
    WEBHOOKS_ENABLED: 'true',
    WEBHOOK_CA_FILE: templates,
  });
  expect(message.split('\n')[0]).toBe('Nothing was started: 11 settings are wrong.');
  const files = ['TEMPLATES_DIR', 'GRPC_TLS_CA_FILE', 'GRPC_TLS_KEY_FILE', 'WEBHOOK_CA_FILE'];
  for (const name of [
    'PORT',
    'SERVICE_SECRET',
    'REPLICAS',
    'MODELS_FILE',
    'TOKEN_TTL_SECONDS',
    'ANSWER_WAIT_SECONDS',
    'LOG_LEVEL',
    ...files,
  ])
    expect([name, message.split(`\n  ${name}: `).length - 1]).toEqual([name, 1]);
  expect(message).toContain('TOKEN_TTL_SECONDS: must be at least 300');
  expect(message).toContain('tiers.Fast.provider');
  expect(message).toContain('own.json: name: ');
  expect(message).toContain('GRPC_TLS_CA_FILE: must name a file with a certificate (PEM)');
  expect(message).toContain('GRPC_TLS_KEY_FILE: names a file that cannot be read (ENOENT)');
  expect(message).toContain('WEBHOOK_CA_FILE: names a file that cannot be read (EISDIR)');
  expect(message).toMatch(/every setting has a default \(docs\/reference\/settings\.md\)\.$/);
  expect(existsSync(join(dataDir, 'logs'))).toBe(false);
});

test('a process that does not start is reported with the end of its log of this start, and not of earlier ones', async () => {
  const logFolder = await testFolder();
  writeFileSync(join(logFolder, 'broken.log'), 'a line of an earlier start\n'.repeat(20));
  const spec = {
    name: 'broken',
    spawn: (log: number) =>
      spawn(process.execPath, ['-e', 'console.log("the fault"); process.exit(1)'], { detached: true, stdio: outputTo(log) }),
    isReady: async () => false,
    stopSignal: 'SIGTERM' as const,
    stopLimitMs: 1_000,
  };
  const lines: string[] = [];
  const supervision = { logFolder, began: () => undefined, ended: () => undefined, report: (line: string) => void lines.push(line) };
  const failure = await manage(spec, supervision)
    .start()
    .then(() => '', String);
  expect(failure).toContain('the fault');
  expect([failure, ...lines].join('\n')).not.toContain('earlier start');
});
