import { openClient, serve } from '@agent-service/contracts';
import { createResolve, refusalOfTarget } from '@agent-service/outbound';
import { createProducer, type DeliveriesJob, openRedis, type Producer } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import {
  createCursors,
  migrate,
  openCipher,
  openStore,
  relayAudit,
  startSweep,
  sweepIdempotency,
  waitForDatabase,
} from '@agent-service/store';
import type { WebhooksConfig } from './config.ts';
import type { WebhooksDeps } from './deps.ts';
import { createDispatch, createRecovery } from './dispatch.ts';
import { createMailer, createNotifier } from './notifier.ts';
import { implementation } from './rpc/index.ts';
import { entities } from './store/entities.ts';
import { migrations } from './store/migrations/index.ts';
import { createMonths } from './store/months.ts';
import { sealedColumns } from './store/sealed-columns.ts';
import { dropVoid, removeDeletedWebhooks, removePreviousSecrets } from './store/webhooks.ts';

const schema = 'webhooks';

/** Composes the service; resolves to its gRPC port. */
export async function start(process: ProcessContext, config: WebhooksConfig, now: () => number = process.clock.now): Promise<number> {
  await waitForDatabase(process, config.DATABASE_URL);
  await migrate({ url: config.DATABASE_URL, schema, migrations });
  const store = await openStore(process, config, { schema, entities });
  const months = createMonths(store);
  await months.ensure(now());
  const identity = openClient(process, 'identity', { address: config.IDENTITY_ADDRESS, as: 'webhooks', config });
  process.health.addCheck('identity', () => identity.checkSignature());
  const jobs = createProducer(process, await openRedis(process, config), 'deliveries');
  process.health.addImpairment(() => !jobs.isConnected);
  const allowed = config.WEBHOOK_ALLOWED_NETWORKS;
  const resolve = createResolve({ local: allowed.length > 0 });
  const deps: WebhooksDeps = {
    store,
    logger: process.logger,
    cipher: await openCipher(process, store, config, sealedColumns),
    cursors: createCursors(config.CURSOR_SECRET),
    months,
    auditRelay: relayAudit(process, store, identity),
    dispatch: createDispatch({ process, store, jobs, now }),
    refusalOfUrl: (url) => refusalOfTarget(url, allowed, resolve),
    now,
  };
  const mailer = createMailer(process, config, now);
  startSweeps(process, { deps, jobs, notify: createNotifier({ store, identity, mailer, logger: process.logger, now }) });
  return await serve(process, config, 'webhooks', implementation(deps));
}

const everySecond = 1_000;
const everyMinute = 60_000;
const everyTenMinutes = 600_000;
const removedAtOnce = 1_000;

interface SweepsOptions {
  deps: WebhooksDeps;
  jobs: Producer<DeliveriesJob>;
  /** Sends one notice; resolves to 0 if none is due. */
  notify: () => Promise<number>;
}

/** Every replica runs these sweeps; rows that one has claimed are skipped by the others. */
function startSweeps(process: ProcessContext, { deps, jobs, notify }: SweepsOptions): void {
  const { store, now } = deps;
  startSweep(process, 'lost deliveries', everySecond, createRecovery({ ...deps, jobs }));
  startSweep(process, 'void deliveries', everySecond, () => store.transaction(({ sql }) => dropVoid(sql, now(), removedAtOnce)));
  startSweep(process, 'notices', everySecond, notify);
  startSweep(process, 'months', everyTenMinutes, () => maintainMonths(process, deps));
  startSweep(process, 'deleted webhooks', everyMinute, () => removeDeletedWebhooks(store.sql, now(), removedAtOnce));
  startSweep(process, 'previous secrets', everyMinute, () => removePreviousSecrets(store.sql, now(), removedAtOnce));
  startSweep(process, 'idempotency', everyMinute, () => sweepIdempotency(store.sql));
}

async function maintainMonths({ logger }: ProcessContext, { months, now }: WebhooksDeps): Promise<number> {
  await months.ensure(now());
  const dropped = await months.drop(now());
  if (dropped.length > 0) logger.info({ event: 'months_dropped', partitions: dropped });
  return 0;
}
