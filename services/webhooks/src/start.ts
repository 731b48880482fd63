import { createClient, serve } from '@agent-service/contracts';
import { createResolve, refusalOfTarget } from '@agent-service/outbound';
import { createProducer, openRedis } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { createCursors, migrate, openCipher, openStore, relayAudit } from '@agent-service/store';
import type { WebhooksConfig } from './config.ts';
import type { WebhooksContext } from './context.ts';
import { createLines } from './lines/lines.ts';
import { createMailer } from './mail/mailer.ts';
import { createNotifier } from './mail/notifier.ts';
import { implementation } from './rpc/index.ts';
import { migrations } from './store/migrations/index.ts';
import { createMonths } from './store/months.ts';
import { sealedPlaces } from './store/sealed-places.ts';
import { startSweeps } from './sweeps.ts';

const schema = 'webhooks';

/** Composes the service; answers with its gRPC port. */
export async function start(process: ProcessContext, config: WebhooksConfig, now: () => number = process.clock.now): Promise<number> {
  await migrate({ url: config.DATABASE_URL, schema, migrations });
  const store = await openStore(process, config, { schema, entities: [] });
  const months = createMonths(store);
  await months.ensure(now());
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: 'webhooks', config });
  process.onStop('identity client', async () => identity.close());
  const jobs = createProducer(process, await openRedis(process, config), 'deliveries');
  const allowed = config.WEBHOOK_ALLOWED_NETWORKS;
  const resolve = createResolve({ local: allowed.length > 0 });
  const context: WebhooksContext = {
    store,
    logger: process.logger,
    cipher: await openCipher(process, store, config, sealedPlaces),
    cursors: createCursors(config.CURSOR_SECRET),
    months,
    auditRelay: relayAudit(process, store, identity),
    lines: createLines({ process, store, jobs, now }),
    refusalOfUrl: (url) => refusalOfTarget(url, allowed, resolve),
    now,
  };
  const mailer = createMailer(process, config, now);
  startSweeps(process, { context, jobs, notify: createNotifier({ store, identity, mailer, logger: process.logger, now }) });
  return await serve(process, config, 'webhooks', implementation(context));
}
