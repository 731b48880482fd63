import { type Event, type State, statesThatAllow } from '../domain/states.ts';

/** Milliseconds since 1970, as a parameter or a column of items has them, as the timestamps of our columns. */
export const at = (milliseconds: string): string =>
  `to_timestamp((${milliseconds.replace(/\$\d+/g, '$&::float8')})::float8 / 1000)::timestamptz(3)`;

/** A timestamp as the milliseconds that everything outside the database counts in. */
export const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/** The states as a list for `in`. */
export const listed = (names: readonly State[]): string => `(${names.map((name) => `'${name}'`).join(', ')})`;

/** As the index of due times has states. */
export const inState = (state: State): string => `state collate "C" = '${state}'`;

export const allowing = (event: Event): string => listed(statesThatAllow(event));

/** Where tenants share a statement, one tenant's locked row keeps the others waiting; alone it may wait longer. */
const sharedLockLimitMs = 200;
const ownLockLimitMs = 1_500;

const limited = (selection: string): string => `
  given as materialized (${selection}),
  items as materialized (
    select * from given
    where (
      select set_config('lock_timeout', case when min(organization_id || ' ' || environment) = max(organization_id || ' ' || environment)
        then '${ownLockLimitMs}' else '${sharedLockLimitMs}' end, true) from given) is not null)`;

/**
 * The items of a batch as a relation named `items`: one parameter, whatever their number. Reading it limits what the statement waits
 * for a lock.
 */
export const items = (columns: string): string => limited(`select * from json_to_recordset($1::json) as item(${columns})`);

/**
 * Items that are only there to be looked up by key. The condition holds for all of them: it has the planner expect hardly any, and so
 * take the key's index for them, although it plans while the tables are small and keeps its plan when they are not.
 */
export const sought = (columns: string): string =>
  limited(`
    select * from json_to_recordset($1::json) as item(${columns})
    where (organization_id, environment) is not distinct from (organization_id, environment)`);

/** Columns of every item: whose it is, and which. */
export const keyColumns = 'organization_id text, environment text, id text';

/** Equality of the whole key of two relations. */
export const sameKey = (a: string, b: string): string =>
  `${a}.organization_id = ${b}.organization_id and ${a}.environment = ${b}.environment and ${a}.id = ${b}.id`;
export const sameTenant = (a: string, b: string): string =>
  `${a}.organization_id = ${b}.organization_id and ${a}.environment = ${b}.environment`;

/** The lines of the items' tenants, locked in the one order that everybody keeps. Yields the newest counters. */
export const lockedLines = `
  lines as materialized (
    select line.* from (
      select distinct organization_id, environment from items order by organization_id, environment) i
    cross join lateral (
      select l.organization_id, l.environment, l.waiting, l.in_flight from answer_lines l where ${sameTenant('l', 'i')} for update) line)`;

/** Makes a part of a statement wait until all lines are locked. */
export const afterLines = '(select count(*) from lines) >= 0';
