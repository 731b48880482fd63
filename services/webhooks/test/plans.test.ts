import { migrate, type Store, sweepIdempotency } from '@agent-service/store';
import { type RecordingStore, recordingStore, recordSteps, type StatementRun, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { healthy } from '../src/domain/health.ts';
import {
  dropWithoutEvent,
  findAttempts,
  lockInFlight,
  recordDeliveryTimes,
  saveDelivered,
  saveEnded,
  saveWebhookHealth,
} from '../src/store/attempts.ts';
import { countDeliveriesOf, findRepeatable, selectDeliveries } from '../src/store/deliveries.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { createMonths } from '../src/store/months.ts';
import { claimNotice } from '../src/store/notices.ts';
import { claimDueChecks, claimUnconfirmed, dispatchDue, returnToQueue, scheduleChecks } from '../src/store/queue.ts';
import { storeEvents } from '../src/store/receive.ts';
import { dropVoid, removeDeletedWebhooks, removePreviousSecrets } from '../src/store/webhooks.ts';

const rows = 50_000;
const limit = 500;
const schema = 'webhooks';
const now = Date.now();
const monthMs = 31 * 24 * 3_600_000;
const tenant = { organizationId: 'org_a', environment: 'live' } as const;

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: RecordingStore;
let runs = new Map<string, StatementRun[]>();

/** Was deactivated and activated again, and its void deliveries are not dropped yet. */
const renewed = { organizationId: 'org_renewed', environment: 'live', webhookId: 'whk_renewed', shared: 'a', own: 'b' } as const;

const jobs = (state: string, count = 100) =>
  Array.from({ length: count }, (_, n) => ({ ...tenant, deliveryId: `dlv_${state}_${n + 1}`, dispatch: 0 }));
const answered = { kind: 'answered', status: 200, body: '', retryAfterMs: 0, durationMs: 1 } as const;
const endpoints = Array.from({ length: 100 }, (_, n) => ({ ...tenant, webhookId: `whk_${n + 1}`, shared: 'a', own: `b${n}` }));

let received = 0;
function newEvent() {
  received += 1;
  const createdAt = new Date(now).toISOString();
  return { ...tenant, id: `evt_new_${received}`, type: 'a', createdAt, month: `${createdAt.slice(0, 7)}-01`, body: '{}' };
}

/** Every sweep's statements, and those that look up webhooks, events and deliveries. */
const steps: Record<string, () => Promise<unknown>> = {
  findAttempts: () => findAttempts(store.sql, jobs('armed')),
  dropWithoutEvent: () => dropWithoutEvent(store.sql, jobs('armed'), now),
  saveDelivered: () =>
    saveDelivered(
      store.sql,
      jobs('armed').map((job, position) => ({ ...job, position, outcome: answered })),
      now,
    ),
  lockInFlight: () => store.transaction(({ sql }) => lockInFlight(sql, jobs('armed', 300).slice(100))),
  saveEnded: () =>
    saveEnded(
      store.sql,
      jobs('armed', 300)
        .slice(100)
        .map((job) => ({ ...job, outcome: answered, end: { state: 'failed', attemptsMade: 1, failedAt: now, dueAt: now } as never })),
      now,
    ),
  saveWebhookHealth: () =>
    saveWebhookHealth(
      store.sql,
      endpoints.map((each) => ({ ...each, health: healthy, isAttempted: true, checkAt: null })),
      now,
    ),
  recordDeliveryTimes: () =>
    recordDeliveryTimes(
      store.sql,
      endpoints.map((each, position) => ({ ...each, position, lastDeliveryAt: null })),
      now,
    ),
  storeEvents: () => storeEvents(store.sql, [newEvent()], now),
  findRepeatable: () => findRepeatable(store.sql, tenant, 'whk_2', 'dlv_waiting_1', 0),
  selectDeliveries: () => selectDeliveries(store.sql, tenant, 'whk_2', { after: undefined, limit: 20, now }),
  selectFurtherDeliveries: () => selectDeliveries(store.sql, tenant, 'whk_2', { after: [new Date(now).toISOString(), ''], limit: 20, now }),
  countDeliveriesOf: () => countDeliveriesOf(store.sql, tenant, 'whk_2', now),
  scheduleChecks: () => scheduleChecks(store.sql, endpoints, now),
  dispatchDue: () => dispatchDue(store.sql, endpoints, now),
  dispatchRenewed: () => dispatchDue(store.sql, [renewed], now),
  claimDueChecks: () => store.transaction(({ sql }) => claimDueChecks(sql, now, limit)),
  claimUnconfirmed: () => claimUnconfirmed(store.sql, now, limit),
  returnToQueue: () =>
    returnToQueue(
      store.sql,
      jobs('armed', 1_000)
        .slice(500)
        .map((job) => ({ ...job, webhookId: 'whk_1', job: 'a' })),
    ),
  dropVoid: () => store.transaction(({ sql }) => dropVoid(sql, now, limit)),
  claimNotice: () => store.transaction(({ sql }) => claimNotice(sql, now, () => now)),
  removeDeletedWebhooks: () => removeDeletedWebhooks(store.sql, now, limit),
  removePreviousSecrets: () => removePreviousSecrets(store.sql, now, limit),
  sweepIdempotency: () => sweepIdempotency(store.sql),
  // So long ago that no month is old enough: the rows of the month before stay.
  dropMonths: () => createMonths(store as unknown as Store).drop(now - monthMs),
};

/** Everything is due, and half of it is of the month before. */
const grow = [
  `insert into endpoints (organization_id, environment, id, url, events, description, active, secret, look_at, voiding, void_before, deleted_at,
     created_at, updated_at)
   select 'org_a', 'live', 'whk_' || n, '', '{a}', '', n <= 1000, '', to_timestamp(0), n > ${rows} - 2, case when n > ${rows} - 2 then now() end,
     case when n > 1000 and n < ${rows} - 2 then to_timestamp(0) end, now(), now() from generate_series(1, ${rows}) n`,
  `insert into events (organization_id, environment, id, month, type, body, received_at)
   select 'org_a', 'live', 'evt_' || n, date_trunc('month', now()) - (n % 2) * interval '1 day', 'a', '{}', now() from generate_series(1, ${rows}) n`,
  ...['waiting', 'armed'].map(
    (
      state,
    ) => `insert into deliveries (organization_id, environment, id, endpoint_id, event_id, event_type, state, due_at, look_at, job, created_at)
     select 'org_a', 'live', 'dlv_${state}_' || n, 'whk_' || 1 + n % ${state === 'armed' ? 25_000 : 500}, 'evt_' || n, 'a', '${state}', to_timestamp(0),
       ${state === 'armed' ? 'to_timestamp(0)' : 'null'}, 'a', now() - (n % 2) * interval '31 days' from generate_series(1, ${rows}) n`,
  ),
  `insert into deliveries (organization_id, environment, id, endpoint_id, event_id, event_type, state, due_at, created_at)
   select 'org_a', 'live', 'dlv_void_' || n, 'whk_${rows}', 'evt_' || n, 'a', 'waiting', to_timestamp(0), now() - interval '1 hour'
   from generate_series(1, 10000) n`,
  `insert into endpoints (organization_id, environment, id, url, events, description, active, secret, voiding, void_before, created_at, updated_at)
   values ('org_renewed', 'live', 'whk_renewed', '', '{a}', '', true, '', true, now(), now(), now())`,
  `insert into deliveries (organization_id, environment, id, endpoint_id, event_id, event_type, state, due_at, created_at)
   select 'org_renewed', 'live', 'dlv_renewed_' || n, 'whk_renewed', 'evt_' || n, 'a', 'waiting', now() - interval '1 hour', now() - interval '1 hour'
   from generate_series(1, 12500) n`,
  `insert into notices select 'org_a', 'live', 'n' || n, '{}', to_timestamp(0), 0, now() from generate_series(1, ${rows}) n`,
  `insert into idempotency_records (scope, fingerprint, response, created_at) select 's' || n, '', '{}', to_timestamp(0) from generate_series(1, ${rows}) n`,
];

beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  store = await recordingStore(database.url, schema);
  // As after a turn of the month: what there is lies in two partitions.
  await store.sql('drop table events_first, deliveries_first');
  const months = createMonths(store as unknown as Store);
  await months.ensure(now - monthMs);
  await months.ensure(now);
  runs = await recordSteps(store, schema, { steps, grow });
}, 120_000);
afterAll(async () => {
  await store?.end();
  await database?.drop();
});

test.each(Object.keys(steps))(
  '%s reads a bounded number of rows of 50,000, planned while the tables were empty or with statistics',
  (name) => {
    for (const { statement, rowsRead, plan } of runs.get(name) ?? []) {
      // A lane counts what it holds, and each month is asked.
      const bound = 10_000;
      if (rowsRead > bound) throw new Error(`${rowsRead} rows\n${statement}\n${plan}`);
    }
    expect(runs.get(name)?.length).toBeGreaterThan(0);
  },
);
