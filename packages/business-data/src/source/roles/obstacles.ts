import type { ClientBase } from 'pg';
import type { RolePlan } from '../../domain/role-plan.ts';

/** What in an expression or a view depends on who asks, or looks at the database itself. */
const asking =
  '\\m(CURRENT_USER|SESSION_USER|CURRENT_ROLE|SYSTEM_USER|USER|current_setting|has_[a-z_]+_privilege|row_security_active|information_schema|pg_[a-z_]+)\\M';

/**
 * Why honest statements over these tables would have other rows or other effects under a role than under the account. Views are
 * looked through down to the tables; a function of the data source's own may depend on anything unless it is declared not to.
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
expressions(classid, objid, written) as (
  select 'pg_attrdef'::regclass, d.oid, pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d join relations r on r.oid = d.adrelid
  union all
  select 'pg_constraint'::regclass, k.oid, pg_get_constraintdef(k.oid) from pg_constraint k join relations r on r.oid = k.conrelid where k.contype = 'c'
),
calls(classid, objid) as (
  select d.classid, d.objid from pg_depend d join pg_proc p on p.oid = d.refobjid join pg_language l on l.oid = p.prolang
  where d.refclassid = 'pg_proc'::regclass and p.provolatile <> 'i' and l.lanname not in ('internal', 'c')
)
select case
  when exists (select from relations where relrowsecurity) then 'row security'
  when exists (select from relations where relkind = 'f') then 'a foreign table'
  when exists (select from views v cross join lateral pg_options_to_table(v.reloptions) o
    where o.option_name = 'security_invoker' and o.option_value::boolean) then 'a view with the rights of whoever asks'
  when exists (select from views where written ~ $2) then 'a view that depends on who asks'
  when exists (select from views v join pg_rewrite w on w.ev_class = v.oid join calls k on k.objid = w.oid and k.classid = 'pg_rewrite'::regclass)
    then 'a view with functions of its own'
  when not $3 then null
  when exists (select from pg_trigger t join relations r on r.oid = t.tgrelid where not t.tgisinternal and t.tgenabled <> 'D') then 'a trigger'
  when exists (select from pg_rewrite w join relations r on r.oid = w.ev_class where r.relkind <> 'v' and w.ev_type <> '1') then 'a rule'
  when exists (select from expressions where written ~ $2) then 'a default or check that depends on who asks'
  when exists (select from expressions join calls using (classid, objid)) then 'a default or check with functions of its own'
end as obstacle`;

/** Undefined where a role of this plan makes no difference to an honest statement. */
export async function obstacleTo(client: ClientBase, { tables, writes }: RolePlan): Promise<string | undefined> {
  const named = JSON.stringify(tables.map(({ schema, name }) => ({ schema, name })));
  const { rows } = await client.query<{ obstacle: string | null }>(statement, [named, asking, writes]);
  return rows[0]?.obstacle ?? undefined;
}
