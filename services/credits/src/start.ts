import { createClient, serve } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { createCursors, migrate, openEventRelay, openStore, relayAudit } from '@agent-service/store';
import { createSlowTenants } from '@agent-service/work';
import type { CreditsConfig } from './config.ts';
import type { CreditsContext } from './context.ts';
import { createLedgerQueue } from './ledger/ledger-queue.ts';
import { createLedgers } from './ledger/ledgers.ts';
import { readPrices } from './prices.ts';
import { implementation } from './rpc/index.ts';
import { entities } from './store/entities.ts';
import { migrations } from './store/migrations/index.ts';
import { startSweeps } from './sweeps.ts';

const schema = 'credits';
const operationsAtOnce = 500;
const waitingAtMost = 10_000;
/** Connections that batches leave for reads and for requests with a transaction of their own. */
const connectionsForOthers = 3;
/** Of the batches' connections, those that tenants get whose batches timed out lately. */
const connectionsOfSlow = 2;
/** Shorter than a hold may take, so that its caller hears of the lock and not of the limit. */
const lockLimitMs = 700;

/** Composes the service; answers with its gRPC port. */
export async function start(process: ProcessContext, config: CreditsConfig, now: () => number = process.clock.now): Promise<number> {
  const prices = await readPrices(config.MODELS_FILE);
  await migrate({ url: config.DATABASE_URL, schema, migrations });
  const store = await openStore(process, config, { schema, entities, lockLimitMs });
  const eventRelay = openEventRelay(process, store, config, 'credits');
  const ledgers = createLedgers({ store, now, events: config.WEBHOOKS_ENABLED, onEvents: () => eventRelay?.nudge() });
  await ledgers.prepare();
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: 'credits', config });
  process.onStop('identity client', async () => identity.close());
  const context: CreditsContext = {
    store,
    ledgers,
    queue: createLedgerQueue({
      commit: ledgers.commit,
      maxItems: operationsAtOnce,
      maxWaiting: waitingAtMost,
      tenantsAtOnce: Math.max(1, config.DATABASE_POOL_MAX - connectionsForOthers - connectionsOfSlow),
      slow: createSlowTenants({ permits: connectionsOfSlow }),
    }),
    prices,
    cursors: createCursors(config.CURSOR_SECRET),
    auditRelay: relayAudit(process, store, identity),
    now,
  };
  startSweeps(process, context);
  return await serve(process, config, 'credits', implementation(context));
}
