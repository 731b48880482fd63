import { insertInto, type Sql } from '@agent-service/store';
import { defineEntity, environment, migratedIndex, p, textsIn, timestamp } from '@agent-service/store/entities';
import type { AttemptKey } from '../../shared/answer.ts';

/** A change of business data that an attempt has claimed. */
export const AnswerStepEntity = defineEntity({
  name: 'AnswerStep',
  tableName: 'answer_steps',
  indexes: [{ name: 'answer_steps_claimed_at_index', properties: ['claimedAt'] }, migratedIndex('answer_steps_untold_index')],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    answerId: p.text().primary(),
    step: p.integer().primary(),
    attempt: p.integer().primary(),
    description: p.text(),
    claimedAt: timestamp(),
    finishedAt: timestamp().nullable(),
    rows: p.integer().nullable(),
    undone: p.boolean().default(false),
    userId: p.text().default(''),
    agentId: p.text().default(''),
    conversationId: p.text().default(''),
    requestId: p.text().default(''),
    tableName: p.text().default(''),
    operation: p.text().default(''),
    askedRows: p.integer().default(0),
    keysJson: p.text().default(''),
    lostAt: timestamp().nullable(),
  },
});

/** A change of business data, as its worker describes it. */
export interface StepChange {
  readonly description: string;
  /** Empty, as the operation, where the worker only has a description. */
  readonly table: string;
  readonly operation: string;
  readonly askedRows: number;
  /** A JSON array of primary keys, or empty. */
  readonly keysJson: string;
}

/** A claimed change, with the caller of its answer. */
export interface ClaimedStep extends StepChange {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
  readonly answerId: string;
  readonly step: number;
  readonly attempt: number;
  readonly userId: string;
  readonly agentId: string;
  readonly conversationId: string;
  readonly requestId: string;
}

/** Columns of a row `s` of answer_steps. */
export const claimColumns = `s.organization_id as "organizationId", s.environment, s.answer_id as "answerId", s.step, s.attempt,
  s.user_id as "userId", s.agent_id as "agentId", s.conversation_id as "conversationId", s.request_id as "requestId", s.description,
  s.table_name as "table", s.operation, s.asked_rows as "askedRows", s.keys_json as "keysJson"`;

/** The current permissions of an attempt. */
export interface StepScope {
  tables: string[];
  readOnly: boolean;
  /** The answers of an inactive agent are finished and change nothing. */
  isActive: boolean;
  /** 0 when no data source is connected. */
  sourceVersion: number;
}

// The look-up of the agent has a limit, so that the planner uses its key and does not read all agents of the tenant.
const loadScope = `
  select ${textsIn('g.tables')} as tables, g.read_only as "readOnly", g.status = 'active' as "isActive", coalesce(s.version, 0) as "sourceVersion"
  from answers a
  cross join lateral (
    select * from agents g where g.organization_id = a.organization_id and g.environment = a.environment and g.id = a.agent_id limit 1) g
  left join data_sources s on s.organization_id = a.organization_id and s.environment = a.environment and s.url_sealed is not null
  where a.organization_id = $1 and a.environment = $2 and a.id = $3 and a.attempt = $4 and a.state = 'running'`;
const lockScope = `${loadScope} for update of a`;

const valuesOf = ({ organizationId, environment, id, attempt }: AttemptKey) => [organizationId, environment, id, attempt];

/** Undefined where a newer attempt exists, or the answer or agent does not. */
export const loadStepScope = async (sql: Sql, attempt: AttemptKey): Promise<StepScope | undefined> =>
  (await sql<StepScope>(loadScope, valuesOf(attempt)))[0];

/** The same before a change: the answer stays locked until the transaction ends. */
export const lockStepScope = async (sql: Sql, attempt: AttemptKey): Promise<StepScope | undefined> =>
  (await sql<StepScope>(lockScope, valuesOf(attempt)))[0];

// The update locks a row that exists, which sets its xmax.
const claim = `
  with item as (
    select * from json_to_record($1::json) as item(
      organization_id text, environment text, answer_id text, attempt integer, step integer,
      description text, table_name text, operation text, asked_rows integer, keys_json text)),
  claimed as (
    select item.*, a.user_id, a.agent_id, a.conversation_id, a.request_id from item
    join answers a on a.organization_id = item.organization_id and a.environment = item.environment and a.id = item.answer_id
    where not exists (
      select 1 from answer_steps o where o.organization_id = item.organization_id and o.environment = item.environment
        and o.answer_id = item.answer_id and o.attempt <> item.attempt))
  ${insertInto('answer_steps as s', {
    organization_id: 'organization_id',
    environment: 'environment',
    answer_id: 'answer_id',
    step: 'step',
    attempt: 'attempt',
    user_id: 'user_id',
    agent_id: 'agent_id',
    conversation_id: 'conversation_id',
    request_id: 'request_id',
    description: 'description',
    table_name: 'table_name',
    operation: 'operation',
    asked_rows: 'asked_rows',
    keys_json: 'keys_json',
    claimed_at: '$2::timestamptz',
  })} from claimed
  on conflict (organization_id, environment, answer_id, step, attempt)
    do update set description = s.description where s.finished_at is null
  returning ${claimColumns}, s.xmax = 0 as "isNew"`;

/**
 * The claim, or undefined where another attempt has claimed a change. A step may repeat its claim until it has finished, since the first
 * response may have been lost.
 */
export async function claimStep(
  sql: Sql,
  { organizationId, environment, id, attempt }: AttemptKey,
  { step, description, table, operation, askedRows, keysJson }: StepChange & { readonly step: number },
  at: number,
): Promise<(ClaimedStep & { readonly isNew: boolean }) | undefined> {
  const item = {
    organization_id: organizationId,
    environment,
    answer_id: id,
    attempt,
    step,
    description,
    table_name: table,
    operation,
    asked_rows: askedRows,
    keys_json: keysJson,
  };
  const [row] = await sql<ClaimedStep & { isNew: boolean }>(claim, [JSON.stringify(item), new Date(at)]);
  return row;
}

export interface FinishedStep extends AttemptKey {
  readonly step: number;
  readonly rows: number;
  readonly undone: boolean;
}

const unfinished =
  's.organization_id = $1 and s.environment = $2 and s.answer_id = $3 and s.attempt = $4 and s.step = $5 and s.finished_at is null';
const removeUndone = `delete from answer_steps s where ${unfinished} returning ${claimColumns}`;
const finish = `update answer_steps s set finished_at = $6, rows = $7 where ${unfinished} returning ${claimColumns}`;

/** The claim; undefined where the step was finished before. */
export async function finishClaim(
  sql: Sql,
  { organizationId, environment, id, attempt, step, rows, undone }: FinishedStep,
  at: number,
): Promise<ClaimedStep | undefined> {
  const key = [organizationId, environment, id, attempt, step];
  // An undone change leaves no claim, so that another attempt may make it.
  const [row] = undone ? await sql<ClaimedStep>(removeUndone, key) : await sql<ClaimedStep>(finish, [...key, new Date(at), rows]);
  return row;
}

const retainedDays = 7;
const oldClaims = `
  delete from answer_steps where ctid = any(array(
    select ctid from answer_steps where claimed_at < $1 and (finished_at is not null or lost_at is not null)
    order by claimed_at limit 1000 for update skip locked))
  returning 1`;

/** Removes claims of old answers, after the audit log has reported their outcome. */
export const removeOldClaims = async (sql: Sql, at: number): Promise<number> =>
  (await sql(oldClaims, [new Date(at - retainedDays * 86_400_000)])).length;

export const stepStatements = { loadScope, lockScope, claim, removeUndone, finish, oldClaims };
