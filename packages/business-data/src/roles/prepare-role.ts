import type { ClientBase } from 'pg';
import type { ConnectionPool, Login } from '../database/connection-pool.ts';
import { translateFailure } from '../database/database-message.ts';
import { DataFailure, LoginRefused } from '../failure.ts';
import { quote } from '../scope/catalog.ts';
import type { ScopedTable } from '../scope/scope.ts';
import { dropStaleRoles } from './drop-roles.ts';
import { type EnsureResult, ensureRole } from './ensure-role.ts';
import type { RolePlan } from './role-plan.ts';

/** A role with its login. */
export interface RoleLogin extends Login {
  readonly plan: RolePlan;
  readonly password: string;
}

/** `reason`: why the role cannot be used; undefined when it can. */
interface PreparationResult {
  readonly reason: string | undefined;
  /** The obstacle is temporary, such as a lock or a time limit. */
  readonly isTemporary: boolean;
}

interface Preparation {
  /** Makes or verifies the role, and logs in once. Throws where the data source cannot be reached, which says nothing about the role. */
  prepare(login: RoleLogin): Promise<PreparationResult>;
  /** Resolves when the work in the background has ended. */
  waitForChores(): Promise<void>;
}

interface PreparationOptions {
  readonly account: Login;
  readonly pool: ConnectionPool;
  readonly onLeft: (family: string, reason: string) => void;
}

const limits = { timeoutMs: 10_000 };
const temporaryCodes = /^(40|55P03|57014|XX000)/;

export function createPreparation({ account, pool, onLeft }: PreparationOptions): Preparation {
  const chores = new Set<Promise<void>>();

  /** When the login fails, sets the password of the role again, once. */
  async function outcomeOf(login: RoleLogin): Promise<PreparationResult> {
    for (const resetPassword of [false, true]) {
      const ensured = await ensure(login, resetPassword);
      if (!ensured.isReady) return { reason: ensured.reason, isTemporary: ensured.isCrowded };
      try {
        const reason = await pool.use(login, limits, (client) => refusalOf(client, login.plan));
        return { reason, isTemporary: false };
      } catch (cause) {
        if (!(cause instanceof LoginRefused)) throw cause;
      }
    }
    return {
      reason: 'the data source refused the login of the role: pg_hba.conf must allow password logins of agent_scope_… roles',
      isTemporary: false,
    };
  }

  async function ensure(login: RoleLogin, resetPassword: boolean): Promise<EnsureResult> {
    const { plan, password } = login;
    const ensured = await pool.use(account, limits, (client) => ensureRole(client, plan, password, { resetPassword }));
    // Open sessions belong to a dropped role of the same name.
    if (ensured.isReady && ensured.created) pool.renew(login);
    if (ensured.isReady ? ensured.mustCommit : ensured.isCrowded) dropUnusedRoles(plan, !ensured.isReady);
    return ensured;
  }

  /** Runs in the background; roles that remain are dropped on a later day. */
  function dropUnusedRoles(plan: RolePlan, isCrowded: boolean): void {
    const chore = pool
      .use(account, limits, (client) => dropStaleRoles(client, plan, isCrowded))
      .then(({ left }) => (left > 0 ? onLeft(plan.family, `${left} unused roles could not be dropped`) : undefined))
      .catch((cause: DataFailure) => {
        // An unreachable data source says nothing about roles; the next statement reports it.
        if (cause.kind !== 'unavailable') onLeft(plan.family, `unused roles could not be looked for (${cause.sqlState ?? cause.kind})`);
      })
      .finally(() => chores.delete(chore));
    chores.add(chore);
  }

  return {
    async prepare(login) {
      try {
        return await outcomeOf(login);
      } catch (cause) {
        if (!(cause instanceof DataFailure) || cause.kind === 'unavailable') throw cause;
        const isTemporary = temporaryCodes.test(cause.sqlState ?? '');
        return { reason: `the role could not be created (${cause.sqlState ?? cause.kind})`, isTemporary };
      }
    },
    waitForChores: async () => void (await Promise.all(chores)),
  };
}

const begin =
  'begin transaction read only; set local statement_timeout = 3000; set local lock_timeout = 1000; set local search_path = pg_catalog';

/** Runs as the role. The reason why it cannot be used, such as a pooler that logs in as another role, or a view that denies it. */
async function refusalOf(client: ClientBase, { name, tables, writes }: RolePlan): Promise<string | undefined> {
  const { rows } = await client.query<{ is: boolean }>(
    'select current_user operator(pg_catalog.=) $1 and session_user operator(pg_catalog.=) $1 as is',
    [name],
  );
  if (!rows[0]?.is) return 'a proxy or connection pooler logged in as another account: connect to PostgreSQL directly';
  const views = writes ? [] : tables.filter(({ kind }) => kind === 'view');
  return views.length > 0 && (await isDenied(client, views)) ? 'a view in scope needs privileges that the role does not have' : undefined;
}

/** Opening a view checks the rights on everything that it calls, without reading a row. */
async function isDenied(client: ClientBase, views: readonly ScopedTable[]): Promise<boolean> {
  const probes = views.map(({ schema, name, columns }) => {
    const list = columns.map((column) => quote(column.name)).join(', ');
    return `select ${list} from ${quote(schema)}.${quote(name)} limit 0`;
  });
  try {
    await client.query([begin, ...probes, 'rollback'].join('; '));
    return false;
  } catch (cause) {
    const failure = translateFailure(cause);
    if (failure.kind === 'unavailable') throw failure;
    await client.query('rollback');
    // A view that is locked or broken fails for the account as well.
    return failure.sqlState === '42501';
  }
}
