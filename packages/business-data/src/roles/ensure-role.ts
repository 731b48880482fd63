import { type ClientBase, escapeLiteral } from 'pg';
import { allowedFunctions } from '../gates/allowed-names.ts';
import { quote } from '../scope/catalog.ts';
import type { ScopedTable } from '../scope/scope.ts';
import { accountTransaction, dropRole, lockRoles } from './drop-roles.ts';
import { obstacleTo } from './obstacles.ts';
import { dayOf, grantText, type Right, type RolePlan, right, roleComment, scramVerifier } from './role-plan.ts';

export type Ensured =
  | { readonly made: false; readonly reason: string; readonly isCrowded: boolean; readonly keep: false }
  /** `changed`: something was written; `created`: who is logged in as one of this name is another. */
  | { readonly made: true; readonly changed: boolean; readonly created: boolean; readonly keep: boolean };

const notMade = (reason: string, isCrowded = false): Ensured => ({ made: false, reason, isCrowded, keep: false });

/** PostgreSQL keeps all grants on a column in one row of a page: an administrator must still find room there. */
const mostOfTenant = 100;

/**
 * Makes the role of a plan, or sees that it is as it should be: it holds these rights and nothing else, so that what gets past every
 * other gate meets PostgreSQL's own privileges. `resetPassword` sets its password again.
 */
export function ensureRole(client: ClientBase, plan: RolePlan, password: string, { resetPassword = false } = {}): Promise<Ensured> {
  return accountTransaction(client, async () => {
    const obstacle = await obstacleTo(client, plan);
    if (obstacle !== undefined) return notMade(`what agents see of the data source must not change: there is ${obstacle} in scope`);
    const rights = plan.writes ? [...plan.rights, ...(await sequenceRights(client, plan.tables))] : plan.rights;
    if (!resetPassword && (await isAsItShouldBe(client, plan.name, rights)))
      return { made: true, changed: false, created: false, keep: false };
    await lockRoles(client);
    return await make(client, plan, rights, { password, resetPassword });
  });
}

async function isAsItShouldBe(client: ClientBase, name: string, rights: readonly Right[]): Promise<boolean> {
  const state = await readState(client, name);
  if (!state.exists || dayOf(state.comment) !== state.today) return false;
  const { missing, excess, withheld } = await readHolding(client, name, rights);
  return missing.length === 0 && !excess && !withheld;
}

interface Making {
  readonly password: string;
  readonly resetPassword: boolean;
}

async function make(client: ClientBase, plan: RolePlan, rights: readonly Right[], { password, resetPassword }: Making): Promise<Ensured> {
  const state = await readState(client, plan.name);
  const isSpoilt = state.exists && (await readHolding(client, plan.name, rights)).excess;
  if (isSpoilt) await dropRole(client, plan.name);
  const created = !state.exists || isSpoilt;
  if (created && (await countRoles(client, plan.family)) >= mostOfTenant)
    return notMade(`there are ${mostOfTenant} roles of this tenant`, true);
  if (created || resetPassword) await client.query(await roleText(client, plan.name, { state, password, created }));
  const { missing, withheld } = await readHolding(client, plan.name, rights);
  if (withheld) return notMade('the data source withholds functions from other accounts');
  if (missing.length > 0) await client.query(grantText(plan.name, state.database, missing));
  // An account that may not grant is only warned.
  const left = missing.length > 0 && (await readHolding(client, plan.name, rights)).missing.length > 0;
  if (left) return notMade('the account cannot grant its own rights to others');
  await client.query(`comment on role ${quote(plan.name)} is ${escapeLiteral(roleComment(plan.family, state.today))}`);
  return { made: true, changed: true, created, keep: true };
}

async function countRoles(client: ClientBase, family: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from pg_roles where starts_with(rolname::text, $1)',
    [family],
  );
  return rows[0]?.count ?? 0;
}

interface Text {
  readonly state: RoleState;
  readonly password: string;
  readonly created: boolean;
}

async function roleText(client: ClientBase, name: string, { state, password, created }: Text): Promise<string> {
  const role = quote(name);
  const attributes = `login noinherit nocreatedb nocreaterole connection limit ${state.connectionLimit} password '${await scramVerifier(password)}'`;
  const settings = [...(await ownSettings(client)), ...given].map(
    ([setting, value]) => `alter role ${role} set ${quote(setting)} = ${value}`,
  );
  return [`${created ? 'create' : 'alter'} role ${role} ${attributes}`, `alter role ${role} reset all`, ...settings].join('; ');
}

/** Limits for other programs that may log in as the role; our statements set their own. */
const given: readonly (readonly [string, string])[] = [
  ['default_transaction_read_only', 'on'],
  ['search_path', 'pg_catalog, pg_temp'],
  ['statement_timeout', '60000'],
  ['lock_timeout', '5000'],
  ['idle_in_transaction_session_timeout', '60000'],
];

/** Lists of names, which a literal would make one name. */
const notCarried = ['search_path', 'temp_tablespaces', 'local_preload_libraries'];

/** Copies settings of the account (as its text search configuration), so that statements mean the same under its roles. */
async function ownSettings(client: ClientBase): Promise<(readonly [string, string])[]> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings where source in ('user', 'database user') and context = 'user' and name <> all($1::text[])`,
    [notCarried],
  );
  return rows.map(({ name, setting }) => [name, escapeLiteral(setting)]);
}

/** The role of this name as the data source has it. */
interface RoleState {
  readonly exists: boolean;
  readonly comment: string | null;
  /** The data source's own day. */
  readonly today: string;
  readonly database: string;
  /** The connection limit of the account, which its roles get too. */
  readonly connectionLimit: number;
}

async function readState(client: ClientBase, name: string): Promise<RoleState> {
  const { rows } = await client.query<RoleState>(
    `select r.oid is not null as exists, shobj_description(r.oid, 'pg_authid') as comment, (now() at time zone 'UTC')::date::text as today,
       current_database() as database, a.rolconnlimit as "connectionLimit"
     from pg_roles a left join pg_roles r on r.rolname = $1 where a.rolname = session_user`,
    [name],
  );
  const [state] = rows;
  if (state === undefined) throw new Error('the account of the data source is not among its roles');
  return state;
}

export interface Holding {
  /** Rights that the role does not have yet. */
  readonly missing: readonly Right[];
  /** It holds, or is, more than it should. */
  readonly excess: boolean;
  /** PUBLIC may not execute functions that statements call. */
  readonly withheld: boolean;
}

/** By the dependencies that PostgreSQL keeps of a role: whatever mentions it is there, and nothing of the rest has to be searched. */
const holding = `
with wanted as (
  select w.place, r.kind, r.privilege, n.oid as schema, c.oid as relation, a.attnum
  from json_array_elements($2::json) with ordinality as w(item, place)
    cross join lateral json_to_record(w.item) as r("kind" text, "schema" text, "name" text, "column" text, "privilege" text)
    left join pg_namespace n on n.nspname = r."schema"
    left join pg_class c on c.relnamespace = n.oid and c.relname = r."name"
    left join pg_attribute a on a.attrelid = c.oid and a.attname = r."column" and a.attnum > 0 and not a.attisdropped
),
role as (select * from pg_roles where rolname = $1),
here as (select oid from pg_database where datname = current_database()),
held as (
  select d.classid, d.objid, d.objsubid, lower(e.privilege_type) as privilege
  from role r join pg_shdepend d on d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid and d.dbid in (0, (select oid from here))
    left join pg_attribute a on d.classid = 'pg_class'::regclass and d.objsubid > 0 and a.attrelid = d.objid and a.attnum = d.objsubid
    left join pg_class c on d.classid = 'pg_class'::regclass and d.objsubid = 0 and c.oid = d.objid
    left join pg_namespace n on d.classid = 'pg_namespace'::regclass and n.oid = d.objid
    left join pg_database b on d.classid = 'pg_database'::regclass and b.oid = d.objid
    left join lateral aclexplode(coalesce(a.attacl, c.relacl, n.nspacl, b.datacl)) e on e.grantee = r.oid
)
select
  coalesce((select json_agg(place order by place) from wanted where not coalesce(case kind
    when 'database' then has_database_privilege($1::name, current_database(), privilege)
    when 'schema' then has_schema_privilege($1::name, schema, privilege)
    when 'table' then has_table_privilege($1::name, relation, privilege)
    when 'sequence' then has_sequence_privilege($1::name, relation, privilege)
    else has_column_privilege($1::name, relation, attnum, privilege) end, false)), '[]') as missing,
  exists (
    select classid, objid, objsubid, privilege from held
    except
    select case kind when 'database' then 'pg_database'::regclass when 'schema' then 'pg_namespace'::regclass else 'pg_class'::regclass end,
      case kind when 'database' then (select oid from here) when 'schema' then schema else relation end, coalesce(attnum, 0), privilege from wanted
  ) or exists (select from pg_auth_members m join role r on r.oid = m.member)
    or exists (select from role where rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls) as excess,
  exists (select from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname = any($3::text[])
    and has_function_privilege(oid, 'execute') and not has_function_privilege($1::name, oid, 'execute')) as withheld`;

/** Rights of a role that exists. */
async function readHolding(client: ClientBase, name: string, rights: readonly Right[]): Promise<Holding> {
  const { rows } = await client.query<{ missing: number[]; excess: boolean; withheld: boolean }>(holding, [
    name,
    JSON.stringify(rights),
    [...allowedFunctions],
  ]);
  const [{ missing, excess, withheld } = { missing: [], excess: true, withheld: true }] = rows;
  const places = new Set(missing);
  return { missing: rights.filter((_, index) => places.has(index + 1)), excess, withheld };
}

/** Without them an insert could not take its default number. Those of identity columns need none. */
async function sequenceRights(client: ClientBase, tables: readonly ScopedTable[]): Promise<Right[]> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    `select distinct sn.nspname as schema, s.relname as name
     from json_to_recordset($1::json) as t("schema" text, "name" text)
       join pg_namespace n on n.nspname = t."schema" join pg_class c on c.relnamespace = n.oid and c.relname = t."name"
       join pg_attrdef f on f.adrelid = c.oid
       join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = f.oid and d.refclassid = 'pg_class'::regclass
       join pg_class s on s.oid = d.refobjid and s.relkind = 'S' join pg_namespace sn on sn.oid = s.relnamespace`,
    [JSON.stringify(tables.map(({ schema, name }) => ({ schema, name })))],
  );
  return rows.map((sequence) => right('sequence', 'usage', sequence));
}
