import { migrate } from '@agent-service/store';
import { testDatabase } from '@agent-service/testkit';
import { openMigratedSchema } from '@agent-service/testkit/schema';
import { expect, test } from '@jest/globals';
import { migrations } from '../src/store/migrations/index.ts';
import { queueStatements } from '../src/store/queue.ts';
import { webhookStatements } from '../src/store/webhooks.ts';

test('every listed statement prepares against the migrated schema', async () => {
  const database = await testDatabase();
  await migrate({ url: database.url, schema: 'webhooks', migrations });
  const migrated = await openMigratedSchema(database.url, 'webhooks');
  try {
    expect(await migrated.failuresToPrepare({ ...queueStatements, ...webhookStatements })).toEqual([]);
  } finally {
    await migrated.end();
    await database.drop();
  }
}, 30_000);
