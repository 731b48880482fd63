import { type ClientBase, escapeLiteral } from 'pg';
import { allowedFunctions } from '../gates/allowed-names.ts';
import { quote } from '../scope/catalog.ts';
import type { ScopedTable } from '../scope/scope.ts';
import { accountTransaction, dropRole, lockRoles } from './drop-roles.ts';
import { obstacleTo } from './obstacles.ts';
import { dayOf, grantText, type Right, type RolePlan, right, roleComment, scramVerifier } from './role-plan.ts';

export type EnsureResult =
  | { readonly isReady: false; readonly reason: string; readonly isCrowded: boolean; readonly mustCommit: false }
  /** `mustCommit`: something was written; `created`: open sessions of this name belong to a dropped role. */
  | { readonly isReady: true; readonly created: boolean; readonly mustCommit: boolean };

const notReady = (reason: string, isCrowded = false): EnsureResult => ({ isReady: false, reason, isCrowded, mustCommit: false });

/** PostgreSQL stores all grants on a column in one row of a page, which must have room for the administrator's grants too. */
const maxRolesOfTenant = 100;

/**
 * Makes the role of a plan, or verifies that it exists with exactly these rights, so that a statement that passes all other gates by mistake
 * is still limited by PostgreSQL's privileges. `resetPassword` sets its password again.
 */
export function ensureRole(client: ClientBase, plan: RolePlan, password: string, { resetPassword = false } = {}): Promise<EnsureResult> {
  return accountTransaction(client, async () => {
    const obstacle = await obstacleTo(client, plan);
    if (obstacle !== undefined)
      return notReady(`a role could read other rows or have other effects than the account: ${obstacle} is in scope`);
    const rights = plan.writes ? [...plan.rights, ...(await sequenceRights(client, plan.tables))] : plan.rights;
    if (!resetPassword && (await isUnchanged(client, plan.name, rights))) return { isReady: true, created: false, mustCommit: false };
    await lockRoles(client);
    return await makeRole(client, plan, rights, { password, resetPassword });
  });
}

async function isUnchanged(client: ClientBase, name: string, rights: readonly Right[]): Promise<boolean> {
  const state = await readState(client, name);
  if (!state.exists || dayOf(state.comment) !== state.today) return false;
  const { missing, excess, withheld } = await compareRights(client, name, rights);
  return missing.length === 0 && !excess && !withheld;
}

interface MakeOptions {
  readonly password: string;
  readonly resetPassword: boolean;
}

async function makeRole(
  client: ClientBase,
  plan: RolePlan,
  rights: readonly Right[],
  { password, resetPassword }: MakeOptions,
): Promise<EnsureResult> {
  const state = await readState(client, plan.name);
  const hasExcess = state.exists && (await compareRights(client, plan.name, rights)).excess;
  if (hasExcess) await dropRole(client, plan.name);
  const created = !state.exists || hasExcess;
  if (created && (await countRoles(client, plan.family)) >= maxRolesOfTenant)
    return notReady(`this tenant has ${maxRolesOfTenant} roles already; a role is created when an unused one has been dropped`, true);
  if (created || resetPassword) await client.query(await roleText(client, plan.name, { state, password, created }));
  const { missing, withheld } = await compareRights(client, plan.name, rights);
  if (withheld) return notReady('EXECUTE on a function that statements may use is revoked from PUBLIC');
  if (missing.length > 0) await client.query(grantText(plan.name, state.database, missing));
  // For an account that may not grant, PostgreSQL only warns.
  const isIncomplete = missing.length > 0 && (await compareRights(client, plan.name, rights)).missing.length > 0;
  if (isIncomplete) return notReady('the account may not grant its privileges: it must own the tables, or have them with grant option');
  await client.query(`comment on role ${quote(plan.name)} is ${escapeLiteral(roleComment(plan.family, state.today))}`);
  return { isReady: true, created, mustCommit: true };
}

async function countRoles(client: ClientBase, family: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from pg_roles where starts_with(rolname::text, $1)',
    [family],
  );
  return rows[0]?.count ?? 0;
}

interface RoleTextOptions {
  readonly state: RoleState;
  readonly password: string;
  readonly created: boolean;
}

async function roleText(client: ClientBase, name: string, { state, password, created }: RoleTextOptions): Promise<string> {
  const role = quote(name);
  const attributes = `login noinherit nocreatedb nocreaterole connection limit ${state.connectionLimit} password '${await scramVerifier(password)}'`;
  const settings = [...(await ownSettings(client)), ...defaultSettings].map(
    ([setting, value]) => `alter role ${role} set ${quote(setting)} = ${value}`,
  );
  return [`${created ? 'create' : 'alter'} role ${role} ${attributes}`, `alter role ${role} reset all`, ...settings].join('; ');
}

/** Limits for other programs that may log in as the role; our transactions set their own. */
const defaultSettings: readonly (readonly [string, string])[] = [
  ['default_transaction_read_only', 'on'],
  ['search_path', 'pg_catalog, pg_temp'],
  ['statement_timeout', '60000'],
  ['lock_timeout', '5000'],
  ['idle_in_transaction_session_timeout', '60000'],
];

/** Settings that are lists of names, which one literal cannot represent. */
const listSettings = ['search_path', 'temp_tablespaces', 'local_preload_libraries'];

/** Copies settings of the account, such as its text search configuration, so that statements mean the same under its roles. */
async function ownSettings(client: ClientBase): Promise<(readonly [string, string])[]> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings where source in ('user', 'database user') and context = 'user' and name <> all($1::text[])`,
    [listSettings],
  );
  return rows.map(({ name, setting }) => [name, escapeLiteral(setting)]);
}

/** The role of this name as the data source has it. */
interface RoleState {
  readonly exists: boolean;
  readonly comment: string | null;
  /** The current day at the data source. */
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

interface RightsDiff {
  /** Rights that the role does not have yet. */
  readonly missing: readonly Right[];
  /** The role has other rights, memberships or attributes. */
  readonly excess: boolean;
  /** The role may not execute functions that statements call, because PUBLIC may not. */
  readonly withheld: boolean;
}

/** Uses the dependencies that PostgreSQL records for a role, so that no other objects have to be searched. */
const compareStatement = `
with wanted as (
  select w.position, r.kind, r.privilege, n.oid as schema, c.oid as relation, a.attnum
  from json_array_elements($2::json) with ordinality as w(item, position)
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
  coalesce((select json_agg(position order by position) from wanted where not coalesce(case kind
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

/** Compares the rights of an existing role with those that it should have. */
async function compareRights(client: ClientBase, name: string, rights: readonly Right[]): Promise<RightsDiff> {
  const { rows } = await client.query<{ missing: number[]; excess: boolean; withheld: boolean }>(compareStatement, [
    name,
    JSON.stringify(rights),
    [...allowedFunctions],
  ]);
  const [{ missing, excess, withheld } = { missing: [], excess: true, withheld: true }] = rows;
  const positions = new Set(missing);
  return { missing: rights.filter((_, index) => positions.has(index + 1)), excess, withheld };
}

/** Rights on the sequences of column defaults, which inserts need. Identity columns need none. */
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
