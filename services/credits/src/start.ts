import { openClient, ServiceError, serve } from '@agent-service/contracts';
import { readModelsFile } from '@agent-service/models/models-file';
import type { Logger, ProcessContext } from '@agent-service/runtime';
import { createCursors, migrate, openEventRelay, openStore, relayAudit, waitForDatabase } from '@agent-service/store';
import { createSlowTenants } from '@agent-service/work';
import type { CreditsConfig } from './config.ts';
import type { CreditsDeps } from './deps.ts';
import type { PriceBook } from './domain/holds.ts';
import { createLedgerQueue, createLedgers, type LedgerQueueOptions } from './ledger/ledgers.ts';
import { implementation } from './rpc/index.ts';
import { migrations } from './store/migrations/index.ts';
import { createUsageSql } from './store/usage/usage-sql.ts';
import { startSweeps } from './sweeps.ts';

const schema = 'credits';
const maxBatch = 500;
const maxWaiting = 10_000;
/** Connections that batches leave for reads and for methods with a transaction of their own. */
const reservedConnections = 3;
/** Connections for batches of tenants whose batches timed out recently. */
const slowTenantConnections = 2;
/** Shorter than the time limit of a hold, so that a lock that is not granted is the reported failure. */
const lockLimitMs = 700;

/** Composes the service; resolves to its gRPC port. */
export async function start(process: ProcessContext, config: CreditsConfig, now: () => number = process.clock.now): Promise<number> {
  const prices = await readPrices(config.MODELS_FILE);
  await waitForDatabase(process, config.DATABASE_URL);
  await migrate({ url: config.DATABASE_URL, schema, migrations });
  const store = await openStore(process, config, { schema, entities: [], lockLimitMs });
  const eventRelay = openEventRelay(process, store, config, 'credits');
  const ledgers = createLedgers({ store, now, events: config.WEBHOOKS_ENABLED, onEvents: () => eventRelay?.nudge() });
  await ledgers.prepare();
  const identity = openClient(process, 'identity', { address: config.IDENTITY_ADDRESS, as: 'credits', config });
  process.health.addCheck('identity', () => identity.checkSignature());
  const deps: CreditsDeps = {
    store,
    logger: process.logger,
    ledgers,
    queue: createLedgerQueue({
      commit: ledgers.commit,
      maxItems: maxBatch,
      maxWaiting,
      tenantsAtOnce: Math.max(1, config.DATABASE_POOL_MAX - reservedConnections - slowTenantConnections),
      slow: createSlowTenants({ permits: slowTenantConnections }),
      onFailure: (entries, cause) => logFailure(process.logger, entries, cause),
    }),
    usageSql: createUsageSql(store.sql, config.DATABASE_POOL_MAX),
    prices,
    cursors: createCursors(config.CURSOR_SECRET),
    auditRelay: relayAudit(process, store, identity),
    now,
  };
  startSweeps(process, deps);
  return await serve(process, config, 'credits', implementation(deps));
}

/** An operation that fails for its own data is never decided: only this line says why. */
function logFailure(logger: Logger, [first, ...rest]: Parameters<LedgerQueueOptions['onFailure']>[0], cause: unknown): void {
  if (!first) return;
  const { tenant, operation } = first;
  const { code } = ServiceError.from(cause);
  logger[code === 'internal' ? 'error' : 'warn']({
    event: 'operations_failed',
    organization_id: tenant.organizationId,
    environment: tenant.environment,
    operation: operation.kind,
    ...('id' in operation && { operation_id: operation.id }),
    more: rest.length,
    code,
    err: cause,
  });
}

/** The price of every tier in the models file. */
export async function readPrices(path: string | undefined): Promise<PriceBook> {
  const { tiers } = await readModelsFile(path);
  return Object.fromEntries(Object.entries(tiers).map(([tier, { price }]) => [tier, price]));
}
