import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionPool, Login } from '../database/connection-pool.ts';
import { type DataFailure, NotAdmitted, untilCancelled } from '../database/failure.ts';
import type { Survey } from '../database/read-survey.ts';
import type { Access } from '../database/transaction.ts';
import { planRole, type RolePlan } from '../domain/role-plan.ts';
import type { ResolvedScope } from '../domain/scope.ts';
import { touch } from '../domain/touch.ts';
import { createPreparation, type RoleLogin } from './prepare-role.ts';
import { rolePassword } from './role-password.ts';

/** Something about roles that an operator may want to know; it holds no data and no secret. */
export interface RoleNotice {
  readonly level: 'info' | 'warn';
  readonly event: 'data_source_role_not_used' | 'data_source_role_denied' | 'data_source_roles_left';
  readonly tenant: string;
  /** Of a role, or what the names of all roles of the tenant begin with. */
  readonly role: string;
  readonly reason: string;
}

/** Whom statements of one scope log in as. */
export interface Standing {
  readonly login: Login;
  /** None where the account itself has to do. */
  readonly plan: RolePlan | undefined;
}

export interface Roles {
  standing(scope: ResolvedScope, access: Access, signal: AbortSignal | undefined): Promise<Standing>;
  /**
   * After the role was turned away or was denied something: looks at it again, after a pause where that was done just now. Only what the
   * data source then says of the role itself decides; nothing that a statement brings about makes anybody do without it.
   */
  again(before: Standing, failure: DataFailure, signal: AbortSignal | undefined): Promise<Standing>;
  /** The role was denied something although it has all that it should have. */
  denied(standing: Standing): void;
  close(): Promise<void>;
}

export interface RolesOptions {
  readonly tenant: string;
  readonly url: string;
  readonly account: Login;
  readonly pool: ConnectionPool;
  readonly survey: () => Promise<Survey>;
  readonly now: () => number;
  readonly onNotice: (notice: RoleNotice) => void;
}

/** Connections of a role are for the next steps of the same answer. */
const idleMs = 10_000;
/** The account's rights may change, and the role's day has to be told anew each day. */
const maxAgeMs = 600_000;
const soonMs = 30_000;
/** So long a role that was looked at is not looked at again: whoever provokes denials costs the data source no more than that. */
const pauseMs = 500;

interface Known {
  readonly standing: Standing;
  readonly at: number;
  readonly until: number;
}

interface Kept {
  readonly login: Promise<RoleLogin>;
  known: Known | undefined;
  flight: Promise<Standing> | undefined;
  deniedToldAt: number;
}

/** Why no role can be made for any scope; undefined where roles can be made. */
export function obstacleToRoles({ mayMakeRoles }: Survey, password: unknown): string | undefined {
  if (!mayMakeRoles) return 'the account can not make roles';
  return password ? undefined : 'the account has no password, from which those of its roles would follow';
}

export function createRoles({ tenant, url, account, pool, survey, now, onNotice }: RolesOptions): Roles {
  const { database = '', user = '', password } = account.driver;
  const owner = { tenant, database, account: user };
  const byAccount: Standing = { login: account, plan: undefined };
  const kept = new Map<string, Kept>();
  const told = new Map<string, string>();
  const onLeft = (role: string, reason: string) => onNotice({ level: 'warn', event: 'data_source_roles_left', tenant, role, reason });
  const preparation = createPreparation({ account, pool, onLeft });

  function keep(plan: RolePlan): Kept {
    const found = kept.get(plan.name) ?? { login: loginOf(plan), known: undefined, flight: undefined, deniedToldAt: -maxAgeMs };
    touch(kept, plan.name, found);
    return found;
  }

  async function loginOf(plan: RolePlan): Promise<RoleLogin> {
    const password = await rolePassword(url, plan.name);
    return { plan, password, driver: { ...account.driver, user: plan.name, password, idleTimeoutMillis: idleMs } };
  }

  /** Once for each reason: what stays as it is needs no second word. */
  function notUsed(level: RoleNotice['level'], role: string, reason: string): Standing {
    if (told.get(role) !== reason) onNotice({ level, event: 'data_source_role_not_used', tenant, role, reason });
    touch(told, role, reason);
    return byAccount;
  }

  /** However many ask at once, one looks. */
  function look(entry: Kept, renew: boolean): Promise<Standing> {
    entry.flight ??= lookNow(entry, renew).finally(() => {
      entry.flight = undefined;
    });
    return entry.flight;
  }

  async function lookNow(entry: Kept, renew: boolean): Promise<Standing> {
    const login = await entry.login;
    if (renew) pool.renew(login);
    const { reason, isPassing } = await preparation.prepare(login);
    const { plan } = login;
    if (reason === undefined) told.delete(plan.name);
    const standing = reason === undefined ? { login, plan } : notUsed('warn', plan.name, reason);
    const at = now();
    entry.known = { standing, at, until: at + (isPassing ? soonMs : maxAgeMs) };
    return standing;
  }

  return {
    async standing(scope, access, signal) {
      const plan = planRole(owner, scope, access === 'read write');
      const found = await survey();
      const obstacle = obstacleToRoles(found, password);
      if (obstacle !== undefined) return notUsed('info', plan.family, obstacle);
      if (plan.tables.some(found.isByAsker)) return notUsed('warn', plan.name, 'what is in scope shows each account rows of its own');
      const entry = keep(plan);
      return entry.known && now() < entry.known.until ? entry.known.standing : await untilCancelled(look(entry, false), signal);
    },
    async again(before, failure, signal) {
      const entry = kept.get(before.plan?.name ?? '');
      if (entry?.known?.standing === before && !(failure instanceof NotAdmitted))
        await untilCancelled(sleep(Math.max(0, pauseMs - (now() - entry.known.at))), signal);
      // Another look was meanwhile.
      if (!entry || (entry.known && entry.known.standing !== before)) return entry?.known?.standing ?? before;
      return await untilCancelled(look(entry, true), signal);
    },
    denied({ plan }) {
      const entry = kept.get(plan?.name ?? '');
      if (!plan || !entry || now() - entry.deniedToldAt < maxAgeMs) return;
      entry.deniedToldAt = now();
      const reason = 'a statement asked for more than is in its scope, or for what only the account may use';
      onNotice({ level: 'warn', event: 'data_source_role_denied', tenant, role: plan.name, reason });
    },
    close: () => preparation.settled(),
  };
}
