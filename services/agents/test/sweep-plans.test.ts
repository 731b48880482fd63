import { migrate, type Store } from '@agent-service/store';
import { type RecordingStore, recordingStore, recordSteps, type StatementRun, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeDeletedAgents } from '../src/agents/store/deleted-agents.ts';
import { removeExpiredKeys } from '../src/answers/store/accept.ts';
import { takeFromDead } from '../src/answers/store/attempts.ts';
import {
  dispatchNext,
  findDueWork,
  findHeldUpTenants,
  findStaleJobs,
  redispatchUnbegun,
  takeExpired,
  takeOverdue,
  takeUnbegun,
} from '../src/answers/store/dispatch.ts';
import { takeDueReleases, takeDueSettlements } from '../src/answers/store/end.ts';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { reportOrphanedClaims } from '../src/data-sources/store/step-audit.ts';
import { removeOldClaims } from '../src/data-sources/store/steps.ts';
import { migrations } from '../src/store/migrations/index.ts';

const rows = 60_000;
const schema = 'agents';
const now = Date.now();
const limit = 1_000;
const tenant = { organizationId: 'org_1', environment: 'live' } as const;

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: RecordingStore;
let runs = new Map<string, StatementRun[]>();

/** Answers of one tenant, which has one of a hundred. */
const some = (state: string) =>
  Array.from({ length: 200 }, (_, n) => ({ ...tenant, id: `msg_${state}_${n * 100 + 1}`, dispatches: 1, attempt: 1 }));

const steps: Record<string, () => Promise<unknown>> = {
  findDueWork: () => findDueWork(store.sql, 50, now),
  takeOverdueWaiting: () => takeOverdue(store.sql, 'waiting', limit, now),
  takeOverdueRunning: () => takeOverdue(store.sql, 'running', limit, now),
  takeExpired: () => takeExpired(store.sql, limit, now),
  takeUnbegun: () => takeUnbegun(store.sql, limit, now),
  redispatchUnbegun: () => redispatchUnbegun(store.sql, some('dispatched'), now),
  takeFromDead: () => takeFromDead(store.sql, some('running'), now),
  findStaleJobs: () => findStaleJobs(store.sql, some('dispatched')),
  takeDueSettlements: () => takeDueSettlements(store.sql, limit, now),
  takeDueReleases: () => takeDueReleases(store.sql, limit, now),
  findHeldUpTenants: () => findHeldUpTenants(store.sql, 50, limit),
  dispatchNext: () => dispatchNext(store.sql, [tenant], { inFlight: 50, workerChannels: ['worker:1'] }, now),
  removeExpiredKeys: () => removeExpiredKeys(store.sql, now),
  removeDeletedAgents: async () => {
    // The first agent has unfinished answers only, the second none.
    await removeDeletedAgents(store as unknown as Store, { warn: () => undefined });
    await removeDeletedAgents(store as unknown as Store, { warn: () => undefined });
  },
  reportOrphanedClaims: () => reportOrphanedClaims(store as unknown as Store, now),
  removeOldClaims: () => removeOldClaims(store.sql, now),
};

/** Half of the conversations of deleted agents have a waiting answer. */
const conversationOf = (state: string) =>
  state === 'waiting' ? "case when n % 2 = 1 then 'conv_' || n else 'waiting' || n end" : `'${state}' || n`;

const answersIn = (state: string) => `
  insert into answers (organization_id, environment, id, state, due, agent_id, conversation_id, accepted_at, deadline, dispatches, priority,
    dispatched_at, attempt)
  select 'org_' || n % 100, 'live', 'msg_${state}_' || n, '${state}', to_timestamp(0), 'agt_gone_' || n % 200, ${conversationOf(state)}, now(),
    now() + ((n % 2) * 2 - 1) * interval '1 hour', 1, 50, now(), 1 from generate_series(1, ${rows}) n`;

/** Everything is due. */
const grow = [
  ...['waiting', 'dispatched', 'running', 'settling', 'releasing'].map(answersIn),
  `insert into answer_lines (organization_id, environment, waiting, in_flight) select 'org_' || n, 'live', 1000, 0 from generate_series(1, ${rows}) n`,
  `insert into answer_keys select 'org_a', 'live', 'scope' || n, '', '', to_timestamp(0) from generate_series(1, ${rows}) n`,
  `insert into deleted_agents (organization_id, environment, id, deleted_at, due) select 'org_' || n % 100, 'live', 'agt_gone_' || n, now(), to_timestamp(n) from generate_series(1, ${rows}) n`,
  `insert into conversations (organization_id, environment, id, agent_id, user_id, message_count, created_at, last_message_at)
   select 'org_' || n % 100, 'live', 'conv_' || n, 'agt_gone_' || n % 200, 'usr_1', 2, now(), now() from generate_series(1, ${rows}) n`,
  `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
   select 'org_' || n % 100, 'live', 'msg_' || n, now(), 'conv_' || n, 'agt_gone_' || n % 200, 'usr_1', 'user', '', 'completed'
   from generate_series(1, ${rows}) n`,
  `insert into answer_steps (organization_id, environment, answer_id, step, attempt, claimed_at, description, finished_at)
   select 'org_a', 'live', 'msg_' || n, 1, 1, to_timestamp(0), '', case when n % 2 = 0 then now() end from generate_series(1, ${rows}) n`,
];

beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  store = await recordingStore(database.url, schema);
  await createMessagePartitions(store as unknown as Store).ensure(now);
  runs = await recordSteps(store, schema, { steps, grow });
}, 240_000);
afterAll(async () => {
  await store?.end();
  await database?.drop();
});

/** Each of a thousand rows may be compared with half of the answers that its priority counts. */
const bounds: Record<string, number> = { takeUnbegun: 50_000, takeOverdueRunning: 20_000, takeExpired: 20_000 };

test.each(Object.keys(steps))(
  '%s reads a bounded number of rows of 60,000, planned while the tables were empty or with statistics',
  (name) => {
    for (const { statement, rowsRead, plan } of runs.get(name) ?? [])
      if (rowsRead > (bounds[name] ?? 10_000)) throw new Error(`${rowsRead} rows\n${statement}\n${plan}`);
    expect(runs.get(name)?.length).toBeGreaterThan(1);
  },
);
