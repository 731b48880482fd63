import type { Sql } from '@agent-service/store';
import { type Attempt, type ClaimedStep, claimColumns, type StepChange } from './step-claim.ts';

/** What an attempt may see now. */
export interface Standing {
  tables: string[];
  readOnly: boolean;
  /** An agent that is not active ends what it has begun, and changes nothing. */
  isActive: boolean;
  /** 0 when no data source is connected. */
  sourceVersion: number;
}

const standing = `
  select g.tables, g.read_only as "readOnly", g.status = 'active' as "isActive", coalesce(s.version, 0) as "sourceVersion"
  from answers a
  join agents g on g.organization_id = a.organization_id and g.environment = a.environment and g.id = a.agent_id
  left join data_sources s on s.organization_id = a.organization_id and s.environment = a.environment and s.url_sealed is not null
  where a.organization_id = $1 and a.environment = $2 and a.id = $3 and a.attempt = $4 and a.state = 'running'`;

/** Undefined for an attempt that is not the newest one, or whose answer or agent is gone. Under a lock where a change is to follow. */
export async function standingOf(
  sql: Sql,
  { organizationId, environment, answerId, attempt }: Attempt,
  locked: boolean,
): Promise<Standing | undefined> {
  const [row] = await sql<Standing>(locked ? `${standing} for update of a` : standing, [organizationId, environment, answerId, attempt]);
  return row;
}

// A row that was there before is locked by this very statement, and says so in xmax.
const claim = `
  insert into answer_steps as s (organization_id, environment, answer_id, step, attempt, user_id, agent_id, conversation_id, request_id,
    description, table_name, operation, asked_rows, keys_json, claimed_at)
  select $1, $2, $3, $5, $4, a.user_id, a.agent_id, a.conversation_id, a.request_id, $6, $7, $8, $9, $10, $11
  from answers a
  where a.organization_id = $1 and a.environment = $2 and a.id = $3
    and not exists (select 1 from answer_steps where organization_id = $1 and environment = $2 and answer_id = $3 and attempt <> $4)
  on conflict (organization_id, environment, answer_id, step, attempt)
    do update set description = s.description where s.finished_at is null
  returning ${claimColumns}, s.xmax = 0 as "isNew"`;

/**
 * The change, where it is this step's to make. The same step may ask again until it has finished, because an answer to its first
 * asking may have been lost; after a change of an earlier attempt nobody makes another.
 */
export async function claimStep(
  sql: Sql,
  { organizationId, environment, answerId, attempt }: Attempt,
  { step, description, table, operation, askedRows, keysJson }: StepChange & { readonly step: number },
  at: number,
): Promise<(ClaimedStep & { readonly isNew: boolean }) | undefined> {
  const [row] = await sql<ClaimedStep & { isNew: boolean }>(claim, [
    organizationId,
    environment,
    answerId,
    attempt,
    step,
    description,
    table,
    operation,
    askedRows,
    keysJson,
    new Date(at),
  ]);
  return row;
}

export interface FinishedStep extends Attempt {
  readonly step: number;
  readonly rows: number;
  readonly undone: boolean;
}

const unfinished =
  's.organization_id = $1 and s.environment = $2 and s.answer_id = $3 and s.attempt = $4 and s.step = $5 and s.finished_at is null';

/** The claim, once: a step that was finished before has none any more. */
export async function finishStep(
  sql: Sql,
  { organizationId, environment, answerId, attempt, step, rows, undone }: FinishedStep,
  at: number,
): Promise<ClaimedStep | undefined> {
  const key = [organizationId, environment, answerId, attempt, step];
  // What was not made leaves no claim, so that another attempt may make it.
  const [row] = undone
    ? await sql<ClaimedStep>(`delete from answer_steps s where ${unfinished} returning ${claimColumns}`, key)
    : await sql<ClaimedStep>(`update answer_steps s set finished_at = $6, rows = $7 where ${unfinished} returning ${claimColumns}`, [
        ...key,
        new Date(at),
        rows,
      ]);
  return row;
}

const keptDays = 7;

/** Claims of answers that ended long ago, none before the audit log has heard of its end. */
export async function removeOldSteps(sql: Sql, at: number): Promise<number> {
  const rows = await sql(
    `delete from answer_steps where ctid = any(array(
       select ctid from answer_steps where claimed_at < $1 and (finished_at is not null or lost_at is not null)
       order by claimed_at limit 1000 for update skip locked))
     returning 1`,
    [new Date(at - keptDays * 86_400_000)],
  );
  return rows.length;
}
