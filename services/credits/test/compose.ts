import { createProcess } from '@agent-service/runtime';
import { openStore, type Store } from '@agent-service/store';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { readCreditsConfig } from '../src/config.ts';
import type { Usage } from '../src/domain/operations.ts';
import { createLedgers, type Ledgers } from '../src/ledger/ledgers.ts';
import { migrated, settingsFor } from './boot.ts';

export interface Composition {
  store: Store;
  ledgers: Ledgers;
  /** The same ledgers as another process has them. */
  others: Ledgers;
  logger: Parameters<Parameters<typeof createProcess>[2]>[0]['logger'];
  database: TestDatabase;
  /** The clock of the ledgers. */
  clock: { now: number };
  stop(): Promise<void>;
}

/** The usage of a settled answer, where a test does not care. */
export const usage: Usage = {
  agentId: 'agt_1',
  agentName: 'Sales',
  conversationId: 'conv_1',
  tier: 'Fast',
  inputTokens: 1,
  outputTokens: 1,
  querySummary: '',
};

/** The ledgers with a database of their own, without the service, at a time that the test sets. */
export async function compose(now: number): Promise<Composition> {
  const database = await testDatabase(migrated);
  const config = readCreditsConfig(settingsFor(database.url));
  const clock = { now };
  // For these ledgers contention has always expired, so that they use their cache whenever they can.
  let elapsedMs = 0;
  const elapsed = () => {
    elapsedMs += 10_000;
    return elapsedMs;
  };
  const running = await createProcess('credits', config, async (process) => {
    const store = await openStore(process, config, { schema: 'credits', entities: [] });
    const ledgers = () => createLedgers({ store, now: () => clock.now, elapsed, events: true });
    return { store, logger: process.logger, ledgers: ledgers(), others: ledgers() };
  });
  return {
    ...running.started,
    database,
    clock,
    async stop() {
      await running.stop();
      await database.drop();
    },
  };
}
