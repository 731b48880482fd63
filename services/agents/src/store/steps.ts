import type { Sql } from '@agent-service/store';

export interface Attempt {
  readonly organizationId: string;
  readonly environment: string;
  readonly answerId: string;
  readonly attempt: number;
}

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

/**
 * Whether the change is this step's to make. The same step may ask again until it has finished, because an answer to its first
 * asking may have been lost; after a change of an earlier attempt nobody makes another.
 */
export async function claimStep(
  sql: Sql,
  { organizationId, environment, answerId, attempt }: Attempt,
  { step, description }: { readonly step: number; readonly description: string },
  at: number,
): Promise<boolean> {
  const rows = await sql(
    `insert into answer_steps (organization_id, environment, answer_id, step, attempt, description, claimed_at)
     select $1, $2, $3, $4, $5, $6, $7
     where not exists (
       select 1 from answer_steps where organization_id = $1 and environment = $2 and answer_id = $3 and attempt <> $5)
     on conflict (organization_id, environment, answer_id, step, attempt)
       do update set description = answer_steps.description where answer_steps.finished_at is null
     returning 1`,
    [organizationId, environment, answerId, step, attempt, description, new Date(at)],
  );
  return rows.length > 0;
}

export interface FinishedStep extends Attempt {
  readonly step: number;
  readonly rows: number;
  readonly undone: boolean;
}

/** The claim's description, once: a step that was finished before has none any more. */
export async function finishStep(
  sql: Sql,
  { organizationId, environment, answerId, attempt, step, rows, undone }: FinishedStep,
  at: number,
): Promise<string | undefined> {
  // What was not made leaves no claim, so that another attempt may make it.
  const [row] = undone
    ? await sql<{ description: string }>(
        `delete from answer_steps where organization_id = $1 and environment = $2 and answer_id = $3 and attempt = $4 and step = $5
         and finished_at is null returning description`,
        [organizationId, environment, answerId, attempt, step],
      )
    : await sql<{ description: string }>(
        `update answer_steps set finished_at = $6, rows = $7
         where organization_id = $1 and environment = $2 and answer_id = $3 and attempt = $4 and step = $5 and finished_at is null
         returning description`,
        [organizationId, environment, answerId, attempt, step, new Date(at), rows],
      );
  return row?.description;
}

const keptDays = 7;

/** Claims of answers that ended long ago. */
export async function removeOldSteps(sql: Sql, at: number): Promise<number> {
  const rows = await sql(
    `delete from answer_steps where ctid in (select ctid from answer_steps where claimed_at < $1 limit 1000) returning 1`,
    [new Date(at - keptDays * 86_400_000)],
  );
  return rows.length;
}
