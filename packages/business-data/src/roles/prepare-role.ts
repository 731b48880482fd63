import type { ClientBase } from 'pg';
import type { ConnectionPool, Login } from '../database/connection-pool.ts';
import { translateFailure } from '../database/database-message.ts';
import { DataFailure, NotAdmitted } from '../failure.ts';
import { quote } from '../scope/catalog.ts';
import type { ScopedTable } from '../scope/scope.ts';
import { dropStaleRoles } from './drop-roles.ts';
import { type Ensured, ensureRole } from './ensure-role.ts';
import type { RolePlan } from './role-plan.ts';

/** A role, and how one logs in as it. */
export interface RoleLogin extends Login {
  readonly plan: RolePlan;
  readonly password: string;
}

/** The reason why a role cannot be used; undefined when it can. */
export interface Outcome {
  readonly reason: string | undefined;
  /** The obstacle passes by itself: a lock, a time limit. */
  readonly isPassing: boolean;
}

interface Preparation {
  /** Makes the role, or sees that it is as it should be, and logs in once. Throws where the data source is away: that is no reason. */
  prepare(login: RoleLogin): Promise<Outcome>;
  /** Resolves when nothing goes on in the background any more. */
  settled(): Promise<void>;
}

interface PreparationOptions {
  readonly account: Login;
  readonly pool: ConnectionPool;
  readonly onLeft: (family: string, reason: string) => void;
}

const limits = { timeoutMs: 10_000 };
const passing = /^(40|55P03|57014|XX000)/;

export function createPreparation({ account, pool, onLeft }: PreparationOptions): Preparation {
  const chores = new Set<Promise<void>>();

  /** A password that is not the role's any more is given to it again, once. */
  async function outcomeOf(login: RoleLogin): Promise<Outcome> {
    for (const resetPassword of [false, true]) {
      const made = await ensure(login, resetPassword);
      if (!made.made) return { reason: made.reason, isPassing: made.isCrowded };
      try {
        const reason = await pool.use(login, limits, (client) => refusalOf(client, login.plan));
        return { reason, isPassing: false };
      } catch (cause) {
        if (!(cause instanceof NotAdmitted)) throw cause;
      }
    }
    return { reason: 'the data source does not let its roles log in', isPassing: false };
  }

  async function ensure(login: RoleLogin, resetPassword: boolean): Promise<Ensured> {
    const { plan, password } = login;
    const made = await pool.use(account, limits, (client) => ensureRole(client, plan, password, { resetPassword }));
    // Who is logged in already is one that is not there any more.
    if (made.made && made.created) pool.renew(login);
    if (made.made ? made.changed : made.isCrowded) tidyUp(plan, !made.made);
    return made;
  }

  /** Runs in the background; roles that remain are tried again on another day. */
  function tidyUp(plan: RolePlan, isCrowded: boolean): void {
    const chore = pool
      .use(account, limits, (client) => dropStaleRoles(client, plan, isCrowded))
      .then(({ left }) => (left > 0 ? onLeft(plan.family, `${left} unused roles could not be dropped`) : undefined))
      .catch((cause: DataFailure) => {
        // An unreachable data source says nothing about roles; the next statement reports it.
        if (cause.kind !== 'unavailable') onLeft(plan.family, cause.message);
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
        const isPassing = passing.test(cause.sqlState ?? '');
        return { reason: `the data source would not make it (${cause.sqlState ?? cause.kind})`, isPassing };
      }
    },
    settled: async () => void (await Promise.all(chores)),
  };
}

const begin =
  'begin transaction read only; set local statement_timeout = 3000; set local lock_timeout = 1000; set local search_path = pg_catalog';

/** Run as the role: why it cannot be used, as when a pooler logs in as another role or a view in scope denies it. */
async function refusalOf(client: ClientBase, { name, tables, writes }: RolePlan): Promise<string | undefined> {
  const { rows } = await client.query<{ is: boolean }>(
    'select current_user operator(pg_catalog.=) $1 and session_user operator(pg_catalog.=) $1 as is',
    [name],
  );
  if (!rows[0]?.is) return 'something before the data source logs its roles in as another account';
  const views = writes ? [] : tables.filter(({ kind }) => kind === 'view');
  return views.length > 0 && (await isDenied(client, views)) ? 'a view in scope uses what only the account may use' : undefined;
}

/** Opening a view asks for the rights on all that it calls, without reading a row. */
async function isDenied(client: ClientBase, views: readonly ScopedTable[]): Promise<boolean> {
  const looks = views.map(({ schema, name, columns }) => {
    const list = columns.map((column) => quote(column.name)).join(', ');
    return `select ${list} from ${quote(schema)}.${quote(name)} limit 0`;
  });
  try {
    await client.query([begin, ...looks, 'rollback'].join('; '));
    return false;
  } catch (cause) {
    const failure = translateFailure(cause);
    if (failure.kind === 'unavailable') throw failure;
    await client.query('rollback');
    // A view that is locked or broken is that for the account as well.
    return failure.sqlState === '42501';
  }
}
