import { type ClientBase, escapeLiteral } from 'pg';
import { quote } from '../domain/identifiers.ts';
import { dayOf, grantText, type Right, type RolePlan, roleComment } from '../domain/role-plan.ts';
import { accountTransaction, lockRoles } from './account-transaction.ts';
import { dropRole } from './drop-roles.ts';
import { obstacleTo } from './obstacles.ts';
import { scramVerifier } from './role-password.ts';
import { type RoleState, readHolding, readState, sequenceRights } from './role-state.ts';

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
