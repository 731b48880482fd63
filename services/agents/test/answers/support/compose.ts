import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '@agent-service/contracts';
import type { AnswerJob, Producer, Reply, WorkerNotice } from '@agent-service/queues';
import { createProcess, processSettings, readConfig } from '@agent-service/runtime';
import { databaseSettings, openStore, type Sql } from '@agent-service/store';
import { testDatabase } from '@agent-service/testkit';
import { z } from 'zod';
import type { AnswersServiceDeps } from '../../../src/answers/deps.ts';
import type { CancelOptions } from '../../../src/answers/end.ts';
import { type Answers, composeAnswers } from '../../../src/answers/index.ts';
import type { Message } from '../../../src/answers/store/accept.ts';
import type { ReadRow } from '../../../src/answers/store/read.ts';
import { createMessagePartitions, type SweepDeps } from '../../../src/answers/sweeps.ts';
import { type AnswerKey, timeOf } from '../../../src/shared/answer.ts';
import { migrated } from '../../compose.ts';
import { type ScriptedLedger, scriptedLedger } from './ledger.ts';

export const organizationId = 'org_1';
export const environment = 'live';
export const agentId = 'agt_1';

export interface Composition {
  readonly answers: Answers;
  /** Dependencies of the sweeps; none runs by itself. */
  readonly deps: SweepDeps;
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly store: AnswersServiceDeps['store'];
  readonly ledger: ScriptedLedger;
  readonly clock: { now: number };
  /** Jobs that were added, in order. */
  readonly jobs: AnswerJob[];
  /** Those of them whose answers are to run apart. */
  readonly apartJobs: AnswerJob[];
  /** Answers whose jobs no worker has taken, as the queue says; the others are taken. */
  readonly untaken: Set<string>;
  readonly removed: AnswerJob[];
  /** The jobs that the queue claims to know; unset: all that were added. */
  known: ((job: AnswerJob) => boolean) | undefined;
  /** False: the process has no connection to Redis. */
  isConnected: boolean;
  readonly prioritized: { payload: AnswerJob; priority: number }[];
  readonly replies: { channel: string; reply: Reply }[];
  readonly notices: { channel: string; notice: WorkerNotice }[];
  /** Cancels an answer, with all effects after the commit. */
  cancel(key: AnswerKey, options?: CancelOptions): Promise<ReadRow | undefined>;
  stop(): Promise<void>;
}

export interface ComposeOptions {
  limits?: Partial<AnswersServiceDeps['limits']>;
  events?: boolean;
}

const schema = z.object({ ...processSettings, ...databaseSettings });

/** The life of answers on a database of its own, with peers that the test scripts and a clock that it sets. */
export async function compose({ limits, events = false }: ComposeOptions = {}): Promise<Composition> {
  const database = await testDatabase(migrated);
  const config = readConfig(schema, {
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'silent',
    DATABASE_URL: database.url,
  });
  const clock = { now: Date.now() };
  const ledger = scriptedLedger(() => clock.now);
  const records = {
    jobs: [] as AnswerJob[],
    apartJobs: [] as AnswerJob[],
    untaken: new Set<string>(),
    removed: [] as AnswerJob[],
    prioritized: [] as Composition['prioritized'],
    replies: [] as Composition['replies'],
    notices: [] as Composition['notices'],
  };
  const rig: Pick<Composition, 'known' | 'isConnected'> = { known: undefined, isConnected: true };
  const queue = (apart: boolean): Producer<AnswerJob> => ({
    get isConnected() {
      return rig.isConnected;
    },
    add: async (jobs) => {
      records.jobs.push(...jobs.map(({ payload }) => payload));
      if (apart) records.apartJobs.push(...jobs.map(({ payload }) => payload));
    },
    known: async (jobs) => jobs.map((job) => rig.known?.(job) ?? true),
    waiting: async (jobs) => jobs.map(({ answerId }) => records.untaken.has(answerId)),
    abandoned: async (jobs) => jobs.map(() => false),
    prioritize: async (jobs) => void records.prioritized.push(...jobs),
    remove: async (jobs) => void records.removed.push(...jobs),
    list: async () => ({ payloads: [], next: undefined }),
    counts: async () => ({ waiting: 0, active: 0, delayed: 0 }),
  });
  const running = await createProcess('agents', config, async (context) => {
    const store = await openStore(context, config, { schema: 'agents', entities: [] });
    const serviceDeps: AnswersServiceDeps = {
      store,
      credits: ledger.client,
      jobs: queue(false),
      apartJobs: queue(true),
      replies: { publish: (channel: string, reply: Reply) => void records.replies.push({ channel, reply }) },
      notices: { publish: (channel: string, notice: WorkerNotice) => void records.notices.push({ channel, notice }) },
      limits: { inFlight: 50, waiting: 100, deadlineMs: 300_000, ...limits },
      eventRelay: events ? { nudge: () => undefined } : undefined,
      now: () => clock.now,
    };
    await createMessagePartitions(store).ensure(clock.now);
    return { store, ...composeAnswers(context, serviceDeps) };
  });
  const { store, answers, deps } = running.started;
  await addAgent(store.sql, agentId);
  return {
    answers,
    deps,
    sql: store.sql,
    databaseUrl: database.url,
    store,
    ledger,
    clock,
    ...records,
    get known() {
      return rig.known;
    },
    set known(known) {
      rig.known = known;
    },
    get isConnected() {
      return rig.isConnected;
    },
    set isConnected(isConnected) {
      rig.isConnected = isConnected;
    },
    async cancel(key, options = { agentId, userId: 'usr_1' }) {
      const cancelled = await store.transaction((transaction) => answers.cancel(transaction, key, options));
      cancelled?.onCommit();
      return cancelled?.row;
    },
    async stop() {
      await running.stop();
      await database.drop();
    },
  };
}

export async function addAgent(sql: Sql, id: string, status = 'active'): Promise<void> {
  await sql(
    `insert into agents (organization_id, environment, id, name, description, category, status, model, system_prompt, tables, read_only,
       default_format, chart_enabled, welcome_message, suggested_prompts, created_by, version, created_at, updated_at, folded_name,
       folded_description, grams)
     values ($1, $2, $3, 'Sales', '', '', $4, 'Fast', 'Be brief.', '{orders}', true, 'markdown', false, '', '{}', 'usr_1', 1, now(), now(),
       'sales', '', '{}')`,
    [organizationId, environment, id, status],
  );
}

/** A message as the gateway would send it now. */
export function newMessage(now: number, more: Partial<Message> = {}): Message {
  const id = more.id ?? newId('msg', now);
  return {
    organizationId,
    environment,
    id,
    acceptedAt: timeOf(id) ?? 0,
    agentId,
    conversationId: '',
    userId: 'usr_1',
    text: 'How many orders?',
    contextJson: '',
    replyChannel: 'replies:1',
    stream: false,
    idempotencyScope: '',
    idempotencyFingerprint: '',
    requestId: 'req_1',
    traceparent: '',
    callerExpiresAt: performance.now() + 10_000,
    isCallerDisconnected: () => false,
    ...more,
  };
}

/** Waits until the condition holds; fails with the last value if it never does. */
export async function untilValue<T>(look: () => T | Promise<T>, holds: (value: T) => boolean, limitMs = 20_000): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    if (performance.now() > end) throw new Error(`the condition never held; last value: ${JSON.stringify(value)}`);
    await pause(25);
  }
}
