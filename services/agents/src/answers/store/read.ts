import { type AnswerMessage, type AnswerRecord, ServiceError, type Tenant } from '@agent-service/contracts';
import { type RowColumns, type Sql, toJson } from '@agent-service/store';
import { type AnswerKey, endedColumns, pendingColumns, select } from '../../shared/answer.ts';
import {
  type AnswerReading,
  assistantMessage,
  items,
  itemsByKey,
  milliseconds,
  readingColumns,
  sameKey,
  sameTenant,
  statesFor,
  tenantColumns,
} from './sql.ts';

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
  queries: AnswerMessage['queries'] | null;
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

export interface RecordRow {
  n: number;
  record: Partial<AnswerRecord>;
}

/** Reads how completed answers came about, without their steps. */
export const selectRecords = (sql: Sql, keys: readonly AnswerReading[]): Promise<RecordRow[]> =>
  sql<RecordRow>(records, [
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

type ConversationKey = Tenant & { readonly n: number; readonly conversationId: string };

const conversationColumns: RowColumns<ConversationKey> = {
  n: ['integer', ({ n }) => n],
  ...tenantColumns,
  conversation_id: ['text', ({ conversationId }) => conversationId],
};

const deletedConversations = `
  with ${items(conversationColumns)}
  select i.n from items i cross join lateral (
    select 1 from conversations c where ${sameTenant('c', 'i')} and c.id = i.conversation_id and c.deleted_at is not null limit 1) deleted`;

/** The answers among these whose conversation is deleted but not yet removed. */
export async function findInDeletedConversations<Answer extends Omit<ConversationKey, 'n'>>(
  sql: Sql,
  answers: readonly Answer[],
): Promise<Answer[]> {
  if (answers.length === 0) return [];
  const numbered = answers.map((answer, n) => ({ ...answer, n }));
  const rows = await sql<{ n: number }>(deletedConversations, [toJson(conversationColumns, numbered)]);
  return rows.map(({ n }) => answers[n] as Answer);
}

export const readStatements = { read, records, pendingOfAgent, counts, deletedConversations };
