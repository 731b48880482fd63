import { createProcess } from '@agent-service/runtime';
import { openStore } from '@agent-service/store';
import { createSlowTenants } from '@agent-service/work';
import { readCreditsConfig } from '../../../services/credits/src/config.ts';
import type { Operation } from '../../../services/credits/src/domain/operations.ts';
import { createLedgerQueue, createLedgers } from '../../../services/credits/src/ledger/ledgers.ts';
import type { Pair } from '../pairs.ts';

const tenant = { organizationId: 'org_hot', environment: 'live' } as const;
const secret = 'a-service-secret-for-the-benchmark-alone';

export interface InProcess {
  pair: Pair;
  stop(): Promise<void>;
}

/** The ledger as the service's methods use it, without the calls: kernel, store and the queue that batches. */
export async function startInProcess(databaseUrl: string, summary: string): Promise<InProcess> {
  const config = readCreditsConfig({
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: secret,
    IDENTITY_ADDRESS: '127.0.0.1:1',
  });
  const running = await createProcess('credits', config, async (process) => {
    const store = await openStore(process, config, { schema: 'credits', entities: [] });
    const ledgers = createLedgers({ store, now: Date.now, events: false });
    return createLedgerQueue({
      commit: ledgers.commit,
      maxItems: 500,
      maxWaiting: 10_000,
      tenantsAtOnce: 5,
      slow: createSlowTenants({ permits: 2 }),
      onFailure: () => undefined,
    });
  });
  const queue = running.started;
  const submit = async (operation: Operation) => {
    const result = await queue.submit(tenant, operation, 5_000);
    if (!result.ok) throw new Error(`a ${operation.kind} was refused: ${result.code}`);
  };
  const usage = {
    agentId: 'agt_hot',
    agentName: 'Sales',
    conversationId: 'conv_hot',
    tier: 'Fast',
    inputTokens: 812,
    outputTokens: 240,
    querySummary: summary,
  };
  return {
    async pair(id) {
      await submit({ kind: 'hold', id, userId: 'usr_hot', amount: 4, deadline: Date.now() + 3_600_000 });
      await submit({ kind: 'settle', id, amount: 2, usage });
    },
    stop: () => running.stop(),
  };
}
