import { abortable, sleep } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import type { ConnectionPool, Login } from '../database/connection-pool.ts';
import type { Survey } from '../database/read-survey.ts';
import type { Access } from '../database/transaction.ts';
import { cancelled, type DataFailure, LoginRefused } from '../failure.ts';
import type { ResolvedScope } from '../scope/scope.ts';
import { createPreparation, type RoleLogin } from './prepare-role.ts';
import { planRole, type RolePlan, rolePassword } from './role-plan.ts';

/** An event about roles for the operator; it holds no data and no secret. */
export interface RoleNotice {
  readonly level: 'info' | 'warn';
  readonly event: 'data_source_role_not_used' | 'data_source_role_denied' | 'data_source_roles_not_dropped';
  readonly tenant: string;
  /** The name of a role, or the prefix of the names of all roles of the tenant. */
  readonly role: string;
  readonly reason: string;
}

/** The login for statements of one scope. */
export interface ScopeLogin {
  readonly login: Login;
  /** Undefined when the account itself is used. */
  readonly plan: RolePlan | undefined;
}

export interface Roles {
  loginFor(scope: ResolvedScope, access: Access, signal: AbortSignal | undefined): Promise<ScopeLogin>;
  /**
   * Checks the role again after its login failed or a privilege was denied; after a pause if it was just checked. Only the reply of the
   * data source decides: no statement can cause its scope to be used without the role.
   */
  checkAgain(before: ScopeLogin, failure: DataFailure, signal: AbortSignal | undefined): Promise<ScopeLogin>;
  /** Reports that a privilege was denied although the role has all its rights. */
  reportDenial(login: ScopeLogin): void;
  close(): Promise<void>;
}

interface RolesOptions {
  readonly tenant: string;
  readonly url: string;
  readonly account: Login;
  readonly pool: ConnectionPool;
  readonly survey: () => Promise<Survey>;
  readonly now: () => number;
  readonly onNotice: (notice: RoleNotice) => void;
}

/** Connections of a role are reused by the next steps of the same answer. */
const idleMs = 10_000;
/** The account's rights may change, and the role's comment states the day of its last use. */
const maxAgeMs = 600_000;
const maxRoles = 200;
const maxAgeAfterTemporaryFailureMs = 30_000;
/** A role is checked at most this often, even if statements cause many denials. */
const pauseMs = 500;

interface Entry {
  readonly login: Promise<RoleLogin>;
  checked: { readonly result: ScopeLogin; readonly at: number; readonly expiresAt: number } | undefined;
  check: Promise<ScopeLogin> | undefined;
  denialReportedAt: number;
}

/** Why no role can be made for any scope; undefined when roles can be made. */
export function obstacleToRoles({ mayMakeRoles }: Survey, password: unknown): string | undefined {
  if (!mayMakeRoles) return 'the account cannot make roles';
  return password ? undefined : 'the account has no password, from which the passwords of its roles are derived';
}

export function createRoles({ tenant, url, account, pool, survey, now, onNotice }: RolesOptions): Roles {
  const { database = '', user = '', password } = account.driver;
  const owner = { tenant, database, account: user };
  const entries = new LRUCache<string, Entry>({ max: maxRoles });
  const notices = createNotices(tenant, onNotice);
  const preparation = createPreparation({ account, pool, onLeft: notices.left });

  function entryOf(plan: RolePlan): Entry {
    const login = () => roleLogin(plan, url, account);
    const entry = entries.get(plan.name) ?? { login: login(), checked: undefined, check: undefined, denialReportedAt: -maxAgeMs };
    entries.set(plan.name, entry);
    return entry;
  }

  function useAccount(level: RoleNotice['level'], role: string, reason: string): ScopeLogin {
    notices.notUsed(level, role, reason);
    return { login: account, plan: undefined };
  }

  /** Callers at the same time share one check. */
  function check(entry: Entry, renew: boolean): Promise<ScopeLogin> {
    entry.check ??= checkNow(entry, renew).finally(() => {
      entry.check = undefined;
    });
    return entry.check;
  }

  async function checkNow(entry: Entry, renew: boolean): Promise<ScopeLogin> {
    const login = await entry.login;
    if (renew) pool.renew(login);
    const { reason, isTemporary } = await preparation.prepare(login);
    const { plan } = login;
    if (reason === undefined) notices.used(plan.name);
    const result = reason === undefined ? { login, plan } : useAccount('warn', plan.name, reason);
    entry.checked = { result, at: now(), expiresAt: now() + (isTemporary ? maxAgeAfterTemporaryFailureMs : maxAgeMs) };
    return result;
  }

  return {
    async loginFor(scope, access, signal) {
      const plan = planRole(owner, scope, access === 'read write');
      const current = await survey();
      const obstacle = obstacleToRoles(current, password);
      if (obstacle !== undefined) return useAccount('info', plan.family, obstacle);
      if (plan.tables.some(current.dependsOnAccount))
        return useAccount('warn', plan.name, 'a table in scope shows each account different rows');
      const entry = entryOf(plan);
      return entry.checked && now() < entry.checked.expiresAt ? entry.checked.result : await untilCancelled(check(entry, false), signal);
    },
    async checkAgain(before, failure, signal) {
      const entry = entries.get(before.plan?.name ?? '');
      if (entry?.checked?.result === before && !(failure instanceof LoginRefused))
        await untilCancelled(sleep(Math.max(0, pauseMs - (now() - entry.checked.at))), signal);
      // Another check finished in the meantime.
      if (!entry || (entry.checked && entry.checked.result !== before)) return entry?.checked?.result ?? before;
      return await untilCancelled(check(entry, true), signal);
    },
    reportDenial({ plan }) {
      const entry = entries.get(plan?.name ?? '');
      if (!plan || !entry || now() - entry.denialReportedAt < maxAgeMs) return;
      entry.denialReportedAt = now();
      notices.denied(plan.name);
    },
    close: () => preparation.waitForChores(),
  };
}

async function roleLogin(plan: RolePlan, url: string, account: Login): Promise<RoleLogin> {
  const password = await rolePassword(url, plan.name);
  return { plan, password, driver: { ...account.driver, user: plan.name, password, idleTimeoutMillis: idleMs } };
}

function createNotices(tenant: string, onNotice: RolesOptions['onNotice']) {
  const reported = new LRUCache<string, string>({ max: maxRoles });
  const denial = 'a statement needed a privilege outside its scope, or one that only the account has';
  return {
    /** Reports each reason once until the role is used again. */
    notUsed(level: RoleNotice['level'], role: string, reason: string): void {
      if (reported.get(role) !== reason) onNotice({ level, event: 'data_source_role_not_used', tenant, role, reason });
      reported.set(role, reason);
    },
    used: (role: string): void => void reported.delete(role),
    denied: (role: string): void => onNotice({ level: 'warn', event: 'data_source_role_denied', tenant, role, reason: denial }),
    left: (role: string, reason: string): void => onNotice({ level: 'warn', event: 'data_source_roles_not_dropped', tenant, role, reason }),
  };
}

/** Settles like `work`, which other callers may share, or rejects as cancelled as soon as this caller cancels. */
async function untilCancelled<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await abortable(work, signal);
  } catch (cause) {
    throw signal?.aborted && cause === signal.reason ? cancelled(cause) : cause;
  }
}
