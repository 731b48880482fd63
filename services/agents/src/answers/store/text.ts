import { type Event, type State, statesThatAllow } from '../../domain/answers/states.ts';

/** Milliseconds since 1970, as a parameter or a column of items has them, as the timestamps of our columns. */
export const at = (milliseconds: string): string =>
  `to_timestamp((${milliseconds.replace(/\$\d+/g, '$&::float8')})::float8 / 1000)::timestamptz(3)`;

/** A timestamp as the milliseconds that everything outside the database counts in. */
export const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/** The states as a list for `in`. */
export const listed = (names: readonly State[]): string => `(${names.map((name) => `'${name}'`).join(', ')})`;

export const allowing = (event: Event): string => listed(statesThatAllow(event));

/** The items of a batch as a relation named `items`: one parameter, whatever their number. */
export const items = (columns: string): string => `items as materialized (select * from json_to_recordset($1::json) as item(${columns}))`;

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
    select line.organization_id, line.environment, line.waiting, line.in_flight from answer_lines line
    where (line.organization_id, line.environment) in (select organization_id, environment from items)
    order by line.organization_id, line.environment for update)`;

/** Makes a part of a statement wait until all lines are locked. */
export const afterLines = '(select count(*) from lines) >= 0';
