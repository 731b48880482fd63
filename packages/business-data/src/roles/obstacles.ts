import type { ClientBase } from 'pg';
import type { RolePlan } from './role-plan.ts';

/** Parts of an expression or a view whose result depends on the account, or that read the catalog. */
const accountDependent =
  '\\m(CURRENT_USER|SESSION_USER|CURRENT_ROLE|SYSTEM_USER|USER|current_setting|has_[a-z_]+_privilege|row_security_active|information_schema|pg_[a-z_]+)\\M';

/**
 * The reason why correct statements over these tables would have other rows or other effects under a role than under the account. Views are
 * followed down to their tables, and expressions down to their functions. A function that the data source defines runs with the rights of
 * the caller and may read anything, even if it is declared immutable.
 */
const statement = `
with recursive scoped as (
  select c.oid from json_to_recordset($1::json) as t("schema" text, "name" text)
  join pg_namespace n on n.nspname = t."schema" join pg_class c on c.relnamespace = n.oid and c.relname = t."name"
),
reached(oid) as (
  select oid from scoped
  union
  select e.below from reached r cross join lateral (
    select i.inhrelid from pg_inherits i where i.inhparent = r.oid
    union all
    select d.refobjid from pg_class v join pg_rewrite w on w.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
    where v.oid = r.oid and v.relkind = 'v'
  ) as e(below)
),
relations as (select c.* from reached r join pg_class c on c.oid = r.oid),
views as (select oid, pg_get_viewdef(oid) as written, reloptions from relations where relkind = 'v'),
used(reading, classid, objid) as (
  select true, 'pg_rewrite'::regclass::oid, w.oid from views v join pg_rewrite w on w.ev_class = v.oid
  union all
  select false, o.classid, o.objid from relations r cross join lateral (
    select 'pg_class'::regclass::oid, r.oid
    union all select 'pg_class'::regclass, i.indexrelid from pg_index i where i.indrelid = r.oid
    union all select 'pg_attrdef'::regclass, d.oid from pg_attrdef d where d.adrelid = r.oid
    union all select 'pg_constraint'::regclass, k.oid from pg_constraint k where k.conrelid = r.oid and k.contype = 'c'
  ) as o(classid, objid) where $3 and r.relkind in ('r', 'p')
  union
  select u.reading, e.classid, e.objid from used u cross join lateral (
    select d.refclassid, d.refobjid from pg_depend d
    where d.classid = u.classid and d.objid = u.objid and u.classid not in ('pg_proc'::regclass, 'pg_type'::regclass)
      and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
    union all
    select 'pg_type'::regclass, b.below from pg_type t cross join lateral (values (t.typbasetype), (t.typelem)) as b(below)
    where u.classid = 'pg_type'::regclass and t.oid = u.objid and b.below <> 0
    union all
    select 'pg_constraint'::regclass, k.oid from pg_constraint k where u.classid = 'pg_type'::regclass and k.contypid = u.objid
  ) as e(classid, objid)
),
expressions(reading, written) as (
  select true, written from views
  union all
  select u.reading, pg_get_expr(d.adbin, d.adrelid) from used u join pg_attrdef d on u.classid = 'pg_attrdef'::regclass and d.oid = u.objid
  union all
  select u.reading, pg_get_constraintdef(u.objid) from used u where u.classid = 'pg_constraint'::regclass
),
calls as (
  select u.reading from used u join pg_proc p on u.classid = 'pg_proc'::regclass and p.oid = u.objid
  where not exists (select from pg_depend d join pg_extension x on x.oid = d.refobjid
    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_extension'::regclass and x.extname = any($4::text[]))
)
select case
  when exists (select from relations where relrowsecurity) then 'row security'
  when exists (select from relations where relkind = 'f') then 'a foreign table'
  when exists (select from views v cross join lateral pg_options_to_table(v.reloptions) o
    where o.option_name = 'security_invoker' and o.option_value::boolean) then 'a view with the rights of its caller'
  when exists (select from expressions where reading and written ~ $5) then 'a view that runs SQL or looks things up by name'
  when exists (select from expressions where reading and written ~ $2) then 'a view that depends on the account'
  when exists (select from calls where reading) then 'a view with user-defined functions'
  when not $3 then null
  when exists (select from pg_trigger t join relations r on r.oid = t.tgrelid where not t.tgisinternal and t.tgenabled <> 'D') then 'a trigger'
  when exists (select from pg_rewrite w join relations r on r.oid = w.ev_class where r.relkind <> 'v' and w.ev_type <> '1') then 'a rule'
  when exists (select from expressions where written ~ $2 or written ~ $5) then 'a default or check that depends on the account'
  when exists (select from calls) then 'a default, check or index with user-defined functions'
end as obstacle`;

/** The texts of the statement: the reason is logged, so it is no text that the server chose. */
const obstacles = new Set(Array.from(statement.matchAll(/ then '([^']+)'/g), ([, obstacle]) => obstacle));

/** Undefined where a role of this plan makes no difference to a correct statement. */
export async function obstacleTo(client: ClientBase, { tables, writes }: RolePlan): Promise<string | undefined> {
  const tablesJson = JSON.stringify(tables.map(({ schema, name }) => ({ schema, name })));
  const { rows } = await client.query<{ obstacle: string | null }>(statement, [
    tablesJson,
    accountDependent,
    writes,
    pureExtensions,
    dynamicCalls,
  ]);
  const obstacle = rows[0]?.obstacle ?? undefined;
  return obstacle === undefined || obstacles.has(obstacle) ? obstacle : 'something unknown';
}

/**
 * Extensions whose functions compute only from their arguments, so that every caller gets the same result. Others (postgis, tablefunc, dblink)
 * read tables or run SQL with the rights of the caller.
 */
const pureExtensions: readonly string[] = [
  'btree_gin',
  'btree_gist',
  'citext',
  'cube',
  'earthdistance',
  'fuzzystrmatch',
  'hstore',
  'intarray',
  'isn',
  'ltree',
  'pg_trgm',
  'pgcrypto',
  'seg',
  'unaccent',
  'uuid-ossp',
  'vector',
];

/** Calls of functions of PostgreSQL that run SQL from their arguments, or read objects by name, with the rights of the caller. */
const dynamicCalls =
  '\\m((query|table|schema|database|cursor)_to_xml(schema|_and_xmlschema)?|ts_stat|ts_rewrite|to_reg[a-z]+|lo_[a-z0-9_]+|loread|currval|set_config)\\(';
