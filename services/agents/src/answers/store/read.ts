import { type AnswerRecord, ServiceError, type Tenant } from '@agent-service/contracts';
import { type RowColumns, type Sql, toJson } from '@agent-service/store';
import {
  type AnswerKey,
  clockToleranceMs,
  endedColumns,
  nameOf,
  pendingColumns,
  select,
  timeOf,
  userMessageIdOf,
} from '../../shared/answer.ts';
import {
  type AnswerReading,
  assistantMessage,
  at,
  items,
  itemsByKey,
  keyColumns,
  milliseconds,
  readingColumns,
  sameKey,
  statesFor,
} from './sql.ts';

/** A query that an answer rests on, in the form of the contract. */
export interface QueryRecord {
  readonly statement: string;
  readonly tables: readonly string[];
  readonly rows: number;
  readonly durationMs: number;
}

/** An answer as readers see it, pending or ended. */
export interface ReadRow extends AnswerKey {
  n: number;
  conversationId: string;
  agentId: string;
  userId: string;
  content: string;
  contentType: string;
  tier: string;
  credits: number;
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  attempt: number;
  failureCode: string;
  failureMessage: string;
  queries: QueryRecord[] | null;
  createdAt: number;
}

const numberedColumns: RowColumns<AnswerReading & { n: number }> = { n: ['integer', ({ n }) => n], ...readingColumns };

const keyOf = (alias: string) => ({ n: 'i.n', organizationId: `${alias}.organization_id`, environment: `${alias}.environment` });
const workOf = (alias: string, createdAt: string) => ({
  userId: `${alias}.user_id`,
  attempt: `${alias}.attempt`,
  createdAt: milliseconds(createdAt),
});

const pending = select({ ...keyOf('a'), ...pendingColumns('a'), ...workOf('a', 'a.accepted_at') });
const ended = select({ ...keyOf('m'), ...endedColumns('m'), ...workOf('m', 'm.created_at') });

// One snapshot of both tables: an answer that ends in the meantime is in one of them and never in none.
const read = `
  with ${itemsByKey(numberedColumns)}
  select ${pending} from items i join answers a on ${sameKey('a', 'i')} where a.state <> 'releasing'
  union all
  select ${ended} from items i cross join lateral (${assistantMessage}) m`;

/** Reads answers; those that do not exist are missing. */
export const readAnswers = (sql: Sql, keys: readonly AnswerReading[]): Promise<ReadRow[]> =>
  sql<ReadRow>(read, [
    toJson(
      numberedColumns,
      keys.map((key, n) => ({ ...key, n })),
    ),
  ]);

const records = `
  with ${itemsByKey(numberedColumns)}
  select i.n, m.record - 'steps' as record from items i cross join lateral (${assistantMessage}) m where m.record is not null`;

/** Reads how completed answers came about, without their steps. */
export const readRecords = (sql: Sql, keys: readonly AnswerReading[]): Promise<{ n: number; record: Partial<AnswerRecord> }[]> =>
  sql(records, [
    toJson(
      numberedColumns,
      keys.map((key, n) => ({ ...key, n })),
    ),
  ]);

const pendingOfAgent = `
  select organization_id as "organizationId", environment, id from answers
  where organization_id = $1 and environment = $2 and agent_id = $3 and state in ${statesFor('end')} order by id limit $4`;

/** Answers of an agent that have no result yet, up to a limit. */
export const findPendingOfAgent = (sql: Sql, { organizationId, environment }: Tenant, agentId: string, limit: number) =>
  sql<AnswerKey>(pendingOfAgent, [organizationId, environment, agentId, limit]);

const counts = `select coalesce(sum(waiting), 0)::integer as waiting, coalesce(sum(in_flight), 0)::integer as "inFlight" from answer_lines`;

/** The numbers of waiting and in-flight answers of all tenants. */
export async function countAnswers(sql: Sql): Promise<{ waiting: number; inFlight: number }> {
  const [row] = await sql<{ waiting: number; inFlight: number }>(counts);
  return row ?? { waiting: 0, inFlight: 0 };
}

/** Answers are read with their content, so few at a time. */
const rowsAStep = 50;
/** Less than the limit of a message between services. */
const maxBytes = 6 * 1024 * 1024;

/** Reads answers in steps, and collects what `keep` returns for each that exists. */
export async function readInSteps<Kept>(sql: Sql, keys: readonly AnswerReading[], keep: (row: ReadRow) => Kept): Promise<Kept[]> {
  const results: Kept[] = [];
  for (let first = 0; first < keys.length; first += rowsAStep) {
    const rows = await readAnswers(sql, keys.slice(first, first + rowsAStep));
    for (const row of rows) results.push(keep({ ...row, n: row.n + first }));
  }
  return results;
}

/** Reads whole answers. Fails before more than one message can carry is in memory; the caller then asks for fewer. */
export function readWhole(sql: Sql, keys: readonly AnswerReading[]): Promise<ReadRow[]> {
  let bytes = 0;
  return readInSteps(sql, keys, (row) => {
    bytes += Buffer.byteLength(row.content) + Buffer.byteLength(JSON.stringify(row.queries ?? ''));
    if (bytes > maxBytes && keys.length > 1) throw new ServiceError('internal', { message: 'The answers are too large for one message.' });
    return row;
  });
}

const maxTurns = 200;
const maxHistoryBytes = 512 * 1024;

export interface Turn {
  role: string;
  content: string;
}

/** An answer, and the conversation that it continues or begins. */
interface Continuation extends AnswerKey {
  readonly conversationId: string;
  readonly continues: boolean;
}

const historyColumns: RowColumns<Continuation & { n: number }> = {
  n: ['integer', ({ n }) => n],
  ...keyColumns,
  conversation_id: ['text', ({ conversationId }) => conversationId],
  user_message_id: ['text', ({ id }) => userMessageIdOf(id)],
  since: ['float8', ({ conversationId }) => startOfConversation(conversationId)],
};

/** The id of a conversation has the time of its first answer; the clocks that made its messages may be a little behind it. */
const startOfConversation = (id: string) => (timeOf(id.replace(/^conv_/, 'msg_')) ?? 0) - 2 * clockToleranceMs;

// The ids of an answer and of its user's message differ only in their time, so the rest of the id names the pair. A pair is as old
// as its answer, and is left out where the answer failed or was cancelled. The newest one is included, and then cut, however long it is.
const history = `
  with ${items(historyColumns)}
  select i.n, said.role, left(said.content, ${maxHistoryBytes}) as content, said.bytes > ${maxHistoryBytes} as "tooLong"
  from items i cross join lateral (
    select *, sum(octet_length(answered.content)) over (order by answered.answered_at desc, answered.pair) as bytes,
      dense_rank() over (order by answered.answered_at desc, answered.pair) as rank
    from (
      select recent.*, max(recent.created_at) over same as answered_at,
        bool_or(recent.role = 'assistant') over same and bool_and(recent.status = 'completed') over same as completed
      from (
        select m.role, m.content, m.status, m.created_at, m.id, right(m.id, 16) as pair from messages m
        where m.organization_id = i.organization_id and m.environment = i.environment and m.conversation_id = i.conversation_id
          and m.id <> i.user_message_id and m.created_at >= ${at('i.since')}
        order by m.created_at desc, m.id desc limit ${maxTurns}) recent
      window same as (partition by recent.pair)) answered
    where answered.completed) said
  where said.bytes <= ${maxHistoryBytes} or said.rank = 1
  order by i.n, said.answered_at, said.pair desc, said.created_at, said.id`;

/**
 * The histories of the conversations that the answers continue, by the names of the answers: the newest pairs that fit into the limit,
 * oldest first, and always at least the last one.
 */
export async function loadHistories(sql: Sql, answers: readonly Continuation[]): Promise<Map<string, Turn[]>> {
  const continuing = answers.filter(({ continues }) => continues).map((answer, n) => ({ ...answer, n }));
  if (continuing.length === 0) return new Map();
  const rows = await sql<Turn & { n: number; tooLong: boolean }>(history, [toJson(historyColumns, continuing)]);
  const turns: Turn[][] = continuing.map(() => []);
  for (const { n, role, content } of rows) turns[n]?.push({ role, content });
  for (const n of new Set(rows.filter((row) => row.tooLong).map((row) => row.n))) turns[n] = cutPair(turns[n] ?? [], maxHistoryBytes);
  return new Map(continuing.map((answer) => [nameOf(answer), turns[answer.n] ?? []]));
}

const ellipsis = '…';
const encoder = new TextEncoder();
const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The text, or as many of its characters as fit before an ellipsis. */
export function cut(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  const room = Math.max(0, maxBytes - bytesOf(ellipsis));
  // The encoder writes only whole characters.
  const { read } = encoder.encodeInto(text, new Uint8Array(room));
  return `${text.slice(0, read)}${ellipsis}`;
}

/** A message and its answer within the limit: the longer one gets the part of the other's half that is not needed. */
export function cutPair<Turn extends { readonly content: string }>(turns: readonly Turn[], maxBytes: number): Turn[] {
  const half = Math.floor(maxBytes / Math.max(1, turns.length));
  const used = turns.reduce((sum, { content }) => sum + Math.min(half, bytesOf(content)), 0);
  const longer = turns.filter(({ content }) => bytesOf(content) > half).length;
  const spare = Math.floor((maxBytes - used) / Math.max(1, longer));
  return turns.map((turn) => ({ ...turn, content: cut(turn.content, half + (bytesOf(turn.content) > half ? spare : 0)) }));
}

export const readStatements = { read, records, pendingOfAgent, counts, history };
