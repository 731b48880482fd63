import type { ClientBase } from 'pg';
import { DataFailure } from '../failure.ts';
import {
  type Catalog,
  type CatalogEffect,
  type CatalogTable,
  maxCommentLength,
  maxLabels,
  type TableName,
  tableKey,
} from '../scope/catalog.ts';
import { isAccount, isEffect, isTableRow } from './check-survey.ts';

/** Tables of a catalog, and the bytes of their descriptions together: about 40,000 columns without comments. */
const maxTables = 5_000;
const maxTableBytes = 6_000_000;
/** Bytes that the database may send in a survey, also if it ignores the limits of the statements. Half of them are for the rules, which are never cut. */
export const maxSurveyBytes = 2 * maxTableBytes;

/**
 * All tables and views but those of the system, in one statement. Partitions are left out: their parent has their rows. Beyond the limits the
 * last tables by name are left out, and never columns of a table, because a scope of all its columns allows more.
 */
const statement = `
with recursive levels (oid, typbasetype) as (
  select t.oid, t.typbasetype from pg_catalog.pg_type t where t.typtype = 'd'
  union all select l.oid, t.typbasetype from levels l join pg_catalog.pg_type t on t.oid = l.typbasetype where t.typtype = 'd'
),
relations as (
  select c.oid, n.nspname, c.relname, c.relkind, c.reloptions, c.reltuples, c.relrowsecurity
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_toast%' and n.nspname not like 'pg\\_temp%'
    and pg_catalog.has_schema_privilege(n.oid, 'usage')
    and (pg_catalog.has_table_privilege(c.oid, 'select') or pg_catalog.has_any_column_privilege(c.oid, 'select'))
  order by n.nspname, c.relname limit ${maxTables + 1}
),
domains as (
  select oid, typbasetype, pg_catalog.format_type(typbasetype, null) as base from levels l where not exists (select from pg_catalog.pg_type b where b.oid = l.typbasetype and b.typtype = 'd')
),
columns as (
  select a.attrelid, pg_catalog.json_agg(pg_catalog.json_build_object(
    'name', a.attname, 'type', pg_catalog.format_type(a.atttypid, a.atttypmod), 'nullable', not a.attnotnull,
    'baseType', case when d.base is not null then d.base || case when t.typtype = 'd' then '' else '[]' end end,
    'generated', a.attgenerated <> '' or a.attidentity = 'a',
    'groupable', t.typtype <> 'p' and (t.typtype <> 'b' or exists (
      select from pg_catalog.pg_opclass o where o.opcintype = t.oid and o.opcdefault) or t.typelem <> 0 or t.oid in (1043, 1560, 1562)),
    'comment', pg_catalog.left(pg_catalog.col_description(a.attrelid, a.attnum), ${maxCommentLength}),
    'labels', (select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder) from (
      select e.enumlabel, e.enumsortorder from pg_catalog.pg_enum e where e.enumtypid = case t.typtype when 'd' then d.typbasetype else a.atttypid end order by e.enumsortorder limit ${maxLabels}) e)
  ) order by a.attnum) as list
  from pg_catalog.pg_attribute a join relations r on r.oid = a.attrelid join pg_catalog.pg_type t on t.oid = a.atttypid left join domains d on d.oid = case t.typtype when 'd' then t.oid else t.typelem end
  where a.attnum > 0 and not a.attisdropped and pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'select')
  group by a.attrelid
),
keys as (
  select k.conrelid, k.contype, pg_catalog.json_agg(pg_catalog.json_build_object(
    'columns', (select pg_catalog.json_agg(a.attname order by u.place) from pg_catalog.unnest(k.conkey) with ordinality u(number, place)
      join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.number),
    'schema', fn.nspname, 'table', f.relname,
    'references', (select pg_catalog.json_agg(a.attname order by u.place) from pg_catalog.unnest(k.confkey) with ordinality u(number, place)
      join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.number)
  ) order by k.conname) as list
  from pg_catalog.pg_constraint k join relations r on r.oid = k.conrelid
    left join pg_catalog.pg_class f on f.oid = k.confrelid left join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
  where k.contype in ('p', 'f') group by k.conrelid, k.contype
),
described as (
select r.nspname, r.relname, pg_catalog.json_build_object('schema', r.nspname, 'name', r.relname,
  'kind', case when r.relkind in ('v', 'm') then 'view' else 'table' end,
  'needsFence', r.relkind = 'v' and not coalesce(r.reloptions && array['security_barrier=true', 'security_barrier=on', 'security_barrier=1'], false),
  'comment', pg_catalog.left(pg_catalog.obj_description(r.oid, 'pg_class'), ${maxCommentLength}), 'columns', c.list,
  'primaryKey', coalesce((select k.list -> 0 -> 'columns' from keys k where k.conrelid = r.oid and k.contype = 'p'), '[]'),
  'foreignKeys', coalesce((select k.list from keys k where k.conrelid = r.oid and k.contype = 'f'), '[]'),
  'approximateRows', case when r.reltuples >= 0 and r.relkind <> 'v' then r.reltuples end) as "table",
  r.relrowsecurity or r.relkind = 'f' or exists (select from pg_catalog.pg_options_to_table(r.reloptions) o
    where o.option_name = 'security_invoker' and o.option_value::boolean) as "dependsOnAccount"
from relations r join columns c on c.attrelid = r.oid
),
counted as (
  select d.*, pg_catalog.count(*) over () as total, pg_catalog.row_number() over names as place,
    pg_catalog.sum(pg_catalog.octet_length(d."table"::text)) over names as bytes
  from described d window names as (order by d.nspname, d.relname)
)
select "table", "dependsOnAccount", total::integer from counted where place = 1 or (place <= ${maxTables} and bytes <= ${maxTableBytes}) order by place`;

/**
 * Rules of all tables, also of those that the account cannot see, because they run as the tables' owners. A partition counts as its parent,
 * and so does a table that inherits without columns of its own; one with more columns has values that its parent does not show. A row that
 * moves to another partition counts as deleted, as in servers before 15.
 */
const effectsStatement = `
with recursive acting as (
  select k.conrelid, k.confrelid, k.conkey, k.confkey,
    case k.confdeltype when 'c' then 'delete' when 'n' then 'update' when 'd' then 'update' end as "onDelete",
    case when k.confupdtype in ('c', 'n', 'd') then 'update' end as "onUpdate"
  from pg_catalog.pg_constraint k
  where k.contype = 'f' and k.conparentid = 0 and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))
),
above (oid, top, same) as (
  select i.oid, i.oid, true from (
    select conrelid from acting union select confrelid from acting
    union select h.inhrelid from pg_catalog.pg_inherits h join pg_catalog.pg_class c on c.oid = h.inhrelid
      where c.relkind in ('r', 'f') and not c.relispartition
  ) i (oid)
  union
  select a.oid, h.inhparent, a.same and (c.relispartition or
    (select pg_catalog.count(*) from pg_catalog.pg_attribute w where w.attrelid = h.inhrelid and w.attnum > 0 and not w.attisdropped) =
    (select pg_catalog.count(*) from pg_catalog.pg_attribute w where w.attrelid = h.inhparent and w.attnum > 0 and not w.attisdropped))
  from above a join pg_catalog.pg_inherits h on h.inhrelid = a.top join pg_catalog.pg_class c on c.oid = a.top
),
named as (
  select a.oid, a.same, n.nspname, c.relname,
    not pg_catalog.row_security_active(c.oid) and not exists (select from pg_catalog.pg_attribute w
      where w.attrelid = c.oid and w.attnum > 0 and not w.attisdropped
        and not pg_catalog.has_column_privilege(c.oid, w.attnum, 'select')) as readable
  from above a join pg_catalog.pg_class c on c.oid = a.top join pg_catalog.pg_namespace n on n.oid = c.relnamespace
),
reached as (
  select oid, pg_catalog.json_agg(pg_catalog.json_build_object('schema', nspname, 'name', relname)) as list
  from named where same and readable group by oid
)
select t.nspname as "schema", t.relname as "table", rule."onDelete", rule."onUpdate",
  (select case when not pg_catalog.bool_or(a.attgenerated <> '') then pg_catalog.json_agg(a.attname) end
    from pg_catalog.pg_attribute a where a.attrelid = k.confrelid and a.attnum = any (k.confkey)) as columns,
  (select pg_catalog.json_agg(a.attname) from pg_catalog.pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) as sets,
  coalesce(r.list, '[]') as reaches
from acting k join named t on t.oid = k.confrelid join pg_catalog.pg_class f on f.oid = k.confrelid left join reached r on r.oid = k.conrelid
  cross join lateral (select k."onDelete", k."onUpdate"
    union all select null, k."onDelete" where f.relkind = 'p' or f.relispartition) rule
union all
select t.nspname, t.relname, 'delete', null, '[]', '[]', coalesce(r.list, '[]')
from named t left join reached r on r.oid = t.oid where not t.same`;

/** Counts inherited memberships, those by SET ROLE, and the rights of the account that logged in. */
const powerStatement = `select case when r.rolsuper then
      case when r.rolname operator(pg_catalog.=) session_user or r.rolname operator(pg_catalog.=) current_user then 'is a superuser'
        else 'is a member of a superuser' end
    else 'is a member of ' operator(pg_catalog.||) r.rolname::pg_catalog.text end
  from pg_catalog.pg_roles r
  where (r.rolsuper or r.rolname::pg_catalog.text operator(pg_catalog.=)
      any (array['pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program']::pg_catalog.text[]))
    and (pg_catalog.pg_has_role(session_user, r.oid, 'member') or pg_catalog.pg_has_role(current_user, r.oid, 'member'))
  order by r.rolname operator(pg_catalog.=) session_user desc, r.rolsuper desc, r.rolname limit 1`;

/** The tables of a database, and facts about the account that decide whether scopes get roles. */
export interface Survey {
  readonly catalog: Catalog;
  readonly mayMakeRoles: boolean;
  /** A right on the server that no account of a data source should have, such as reading files. */
  readonly power: string | undefined;
  /** True when another account could see other rows of this table. */
  dependsOnAccount(table: TableName): boolean;
}

export async function readSurvey(client: ClientBase): Promise<Survey> {
  await client.query('begin transaction read only; set local statement_timeout = 10000; set local lock_timeout = 2000');
  const survey = await read(client);
  await client.query('rollback');
  return survey;
}

async function read(client: ClientBase): Promise<Survey> {
  const { rows } = await client.query<{ schema: string | null; mayMakeRoles: boolean; power: string | null }>(
    `select pg_catalog.current_schema() as schema, (${powerStatement}) as power,
       not pg_catalog.pg_is_in_recovery()
         and exists (select from pg_catalog.pg_roles where rolname operator(pg_catalog.=) current_user and (rolsuper or rolcreaterole)) as "mayMakeRoles"`,
  );
  const [account = { schema: null, mayMakeRoles: false, power: null }] = rows;
  if (!isAccount(account)) throw impossible();
  const { schema, mayMakeRoles, power } = account;
  // Only the default schema depends on the account's search_path. From here on no object of its schemas replaces one of the catalog.
  await client.query('set local search_path = pg_catalog, pg_temp');
  const { rows: tableRows } = await client.query<{ table: CatalogTable; dependsOnAccount: boolean; total: number }>(statement);
  const { rows: effects } = await client.query<CatalogEffect>(effectsStatement);
  if (tableRows.length > maxTables || !tableRows.every(isTableRow) || !effects.every(isEffect)) throw impossible();
  const accountDependent = new Set(tableRows.filter((row) => row.dependsOnAccount).map(({ table }) => tableKey(table)));
  return {
    catalog: {
      defaultSchema: schema ?? 'public',
      tables: tableRows.map(({ table }) => table),
      more: tableRows.length < (tableRows[0]?.total ?? 0),
      effects,
    },
    mayMakeRoles,
    power: power ?? undefined,
    dependsOnAccount: (table) => accountDependent.has(tableKey(table)),
  };
}

const impossible = () =>
  new DataFailure('unavailable', 'The data source describes tables that PostgreSQL cannot have, so it cannot be used.');
