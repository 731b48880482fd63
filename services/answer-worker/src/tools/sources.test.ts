import { createProcess, processSettings, readConfig } from '@agent-service/runtime';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { createTenantSources } from './sources.ts';
import type { SourceSettings, Steps } from './steps.ts';

const connected = { url: 'postgres://worker@127.0.0.1:1/data', caCertificate: '', version: 7, allowSuperuser: false };
const answer = { organizationId: 'org_a', environment: 'live', answerId: 'msg_1' };

test('a reply of the release before, which does not say whether the connection is guarded, is not kept', async () => {
  const replies: SourceSettings[] = [connected, { ...connected, guarded: true }];
  const steps = { loadSource: async () => replies.shift() } as Steps;
  const config = readConfig(z.object(processSettings), { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: 'silent' });
  const running = await createProcess('answer-worker', config, async (process) =>
    createTenantSources(process, { roles: 'off', allowedNetworks: [] }),
  );
  try {
    expect(await running.started.of(answer, 7, steps)).toBeDefined();
    await expect(running.started.of(answer, 7, steps)).rejects.toMatchObject({ kind: 'refused' });
    await expect(running.started.of(answer, 7, steps)).rejects.toMatchObject({ kind: 'refused' });
  } finally {
    await running.stop();
  }
});
