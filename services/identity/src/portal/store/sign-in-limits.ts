import type { Sql } from '@agent-service/store';

/** How often something may be tried: freely at first, then after a pause that doubles with each attempt. */
export interface GrowingDelay {
  readonly freeAttempts: number;
  readonly maxDelaySeconds: number;
}

export interface CountedAttempt {
  readonly attempts: number;
  /** How long the next attempt has to wait. */
  readonly delaySeconds: number;
}

/** Counts an attempt before it is made, so that attempts at the same time count as well; undefined while a pause lasts. */
export async function countAttempt(sql: Sql, key: string, delay: GrowingDelay): Promise<CountedAttempt | undefined> {
  return (await sql<CountedAttempt>(countAttemptStatement, [key, delay.freeAttempts, delay.maxDelaySeconds]))[0];
}

// Attempts are forgotten an hour after the last one, which is longer than any pause. Times are stored in milliseconds, and may be rounded up:
// that is no pause after a free attempt.
const countAttemptStatement = `
  insert into sign_in_limits as known (key, attempts, blocked_until, ends_at)
  values ($1, 1, clock_timestamp(), clock_timestamp() + interval '1 hour')
  on conflict (key) do update set
    attempts = case when known.ends_at <= clock_timestamp() then 1 else known.attempts + 1 end,
    blocked_until = clock_timestamp() + interval '1 second' * case
      when known.ends_at <= clock_timestamp() or known.attempts + 1 < $2::integer then 0
      else least($3::integer, power(2, least(known.attempts + 1 - $2::integer, 20))) end,
    ends_at = clock_timestamp() + interval '1 hour'
  where known.blocked_until <= clock_timestamp()
  returning attempts, case when attempts < $2::integer then 0
    else greatest(0, extract(epoch from blocked_until - clock_timestamp())) end::float8 as "delaySeconds"`;

/** Counts a request in a window of a minute; false where it has as many as it may. */
export async function countRequest(sql: Sql, key: string, perMinute: number): Promise<boolean> {
  return (await sql(countRequestStatement, [key, perMinute])).length > 0;
}

const countRequestStatement = `
  insert into sign_in_limits as known (key, attempts, blocked_until, ends_at)
  values ($1, 1, clock_timestamp(), clock_timestamp() + interval '1 minute')
  on conflict (key) do update set
    attempts = case when known.ends_at <= clock_timestamp() then 1 else known.attempts + 1 end,
    ends_at = case when known.ends_at <= clock_timestamp() then clock_timestamp() + interval '1 minute' else known.ends_at end,
    blocked_until = case when known.ends_at <= clock_timestamp() then clock_timestamp() else known.ends_at end
  where known.ends_at <= clock_timestamp() or known.attempts < $2::integer
  returning attempts`;

/** True for the first caller that claims the key within an hour. */
export async function claimOnce(sql: Sql, key: string): Promise<boolean> {
  return (await sql(claimOnceStatement, [key])).length > 0;
}

const claimOnceStatement = `
  insert into sign_in_limits as known (key, attempts, blocked_until, ends_at)
  values ($1, 1, clock_timestamp(), clock_timestamp() + interval '1 hour')
  on conflict (key) do update set ends_at = excluded.ends_at where known.ends_at <= clock_timestamp() returning attempts`;

/** Whole seconds until another attempt may be made. */
export async function secondsUntilAllowed(sql: Sql, key: string): Promise<number> {
  const [row] = await sql<{ seconds: number }>(secondsUntilAllowedStatement, [key]);
  return Math.max(1, Math.ceil(row?.seconds ?? 0));
}

const secondsUntilAllowedStatement = `
  select extract(epoch from blocked_until - clock_timestamp())::float8 as seconds from sign_in_limits where key = $1`;

/** Takes back one counted attempt with the pause that it began, and leaves the others. */
export async function takeBackAttempt(sql: Sql, key: string): Promise<void> {
  await sql(takeBackAttemptStatement, [key]);
}

// An attempt is counted only when the pauses of those before it are over.
const takeBackAttemptStatement = `
  update sign_in_limits set attempts = greatest(0, attempts - 1), blocked_until = least(blocked_until, clock_timestamp()) where key = $1`;

export async function forgetAttempts(sql: Sql, key: string): Promise<void> {
  await sql(forgetAttemptsStatement, [key]);
}

const forgetAttemptsStatement = 'delete from sign_in_limits where key = $1';

export const signInLimitStatements = {
  countAttemptStatement,
  countRequestStatement,
  claimOnceStatement,
  secondsUntilAllowedStatement,
  forgetAttemptsStatement,
  takeBackAttemptStatement,
};
