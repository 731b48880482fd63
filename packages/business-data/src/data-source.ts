import type { IpNetwork } from '@agent-service/outbound';
import type { ProcessContext } from '@agent-service/runtime';
import { LRUCache } from 'lru-cache';
import { type ConnectionSettings, poolSettings } from './database/connection.ts';
import { type ConnectionPool, createConnectionPool, type Login } from './database/connection-pool.ts';
import { maxSurveyBytes, readSurvey, type Survey } from './database/read-survey.ts';
import { type Transactions, transactionsOn } from './database/transaction.ts';
import { DataFailure, LoginRefused } from './failure.ts';
import { createRoles, obstacleToRoles, type RoleNotice, type Roles, type ScopeLogin } from './roles/roles.ts';
import type { Catalog } from './scope/catalog.ts';
import type { ResolvedScope } from './scope/scope.ts';

/** An organization's database, as one account of it. */
export interface DataSource extends Transactions {
  /** Transactions under a role that holds only this scope, where the settings ask for one and the database allows us to make it. */
  within(scope: ResolvedScope): Transactions;
  /** The tables of the database; they are read again after `catalogMaxAgeMs`. */
  catalog(): Promise<Catalog>;
  /** Connects and reads; rejects when that fails. */
  check(): Promise<{ readonly version: string; readonly durationMs: number }>;
  /** Says whether the database allows roles for scopes, and why not. */
  roleGate(): Promise<RoleGate>;
  close(): Promise<void>;
}

export interface DataSourceSettings extends ConnectionSettings {
  readonly catalogMaxAgeMs?: number;
  /** How long a statement waits for a free connection; by default as long as connecting may take. */
  readonly queueTimeoutMs?: number;
  /** Each scope's statements run under a role of its own. Without it all run as the account. */
  readonly roles?: RoleSettings;
  /** Refuses an account with rights on the server itself, now or later: superusers and members of roles that reach its files. */
  readonly refuseSuperuser?: boolean;
  /** The number of the connection: another version opens the data source again. */
  readonly version?: number;
}

/** A data source as it was connected. */
export interface DataSourceConnection {
  readonly url: string;
  /** In PEM; empty for the certificate authorities that Node trusts. */
  readonly ca: string;
  /** Allows an account with rights on the server itself. */
  readonly allowSuperuser: boolean;
  /** Connected by a user of the organization, and not by an operator of the service. */
  readonly guarded: boolean;
}

/** A certificate authority of the organization's own is always verified. A guarded connection leads to public addresses and these networks only. */
export const toDataSourceSettings = (
  { url, ca, allowSuperuser, guarded }: DataSourceConnection,
  allowedNetworks: readonly IpNetwork[],
): DataSourceSettings => ({
  url,
  refuseSuperuser: !allowSuperuser,
  ...(guarded && { allowedNetworks }),
  ...(ca !== '' && { tls: { mode: 'verify', ca } }),
});

export interface RoleGate {
  readonly isActive: boolean;
  /** Why it is not active, or for which tables; empty where it always is. */
  readonly reason: string;
}

interface RoleSettings {
  /** No role is shared between two tenants. */
  readonly tenant: string;
  readonly now?: () => number;
}

export interface Listeners {
  /** Called when an idle connection broke. */
  readonly onLost: (cause: unknown) => void;
  readonly onNotice: (notice: RoleNotice) => void;
}

const surveyLimits = { timeoutMs: 10_000, maxReceivedBytes: maxSurveyBytes };

const listenersOf = ({ logger }: ProcessContext): Listeners => ({
  onLost: (cause) => logger.warn({ event: 'data_source_connection_lost', err: cause }),
  onNotice: ({ level, ...notice }) => logger[level](notice),
});

export function createDataSource(settings: DataSourceSettings, listeners: Listeners | Listeners['onLost']): DataSource {
  const { onLost, onNotice } = typeof listeners === 'function' ? { onLost: listeners, onNotice: () => undefined } : listeners;
  const driver = poolSettings(settings);
  const account: Login = { driver };
  const queueTimeoutMs = settings.queueTimeoutMs ?? driver.connectionTimeoutMillis;
  const pool = createConnectionPool({ max: driver.max ?? 1, queueTimeoutMs, onLost });
  const cachedSurvey = cache(() => pool.use(account, surveyLimits, readSurvey), settings.catalogMaxAgeMs ?? 30_000);
  const survey = settings.refuseSuperuser ? async () => requireHarmless(await cachedSurvey()) : cachedSurvey;
  const plain = transactionsAs(pool, account);
  const roles =
    settings.roles && createRoles({ now: () => performance.now(), ...settings.roles, url: settings.url, account, pool, survey, onNotice });
  return {
    ...plain,
    within: (scope) => (roles ? transactionsWithin(pool, roles, scope) : plain),
    catalog: async () => (await survey()).catalog,
    check: () => check(pool, account),
    roleGate: async () => roleGateOf(await survey(), driver.password),
    close: async () => void (await Promise.all([pool.close(), roles?.close()])),
  };
}

function requireHarmless(survey: Survey): Survey {
  if (survey.power === undefined) return survey;
  const text = `The account of the data source ${survey.power}. Connect an account that is not; an operator of the service can allow it with --allow-superuser.`;
  throw new DataFailure('refused', text);
}

function roleGateOf(survey: Survey, password: unknown): RoleGate {
  const obstacle = obstacleToRoles(survey, password);
  if (obstacle !== undefined) return { isActive: false, reason: obstacle };
  const accountDependent = survey.catalog.tables
    .filter((table) => survey.dependsOnAccount(table))
    .map(({ schema, name }) => `${schema}.${name}`);
  if (accountDependent.length === 0) return { isActive: true, reason: '' };
  const names = accountDependent.slice(0, maxNamed).join(', ');
  const more = accountDependent.length > maxNamed ? ` and ${accountDependent.length - maxNamed} more` : '';
  return { isActive: true, reason: `not for scopes with tables that show each account different rows: ${names}${more}` };
}

const maxNamed = 5;

async function check(pool: ConnectionPool, account: Login): Promise<{ version: string; durationMs: number }> {
  const begin = performance.now();
  const { version } = await pool.use(account, surveyLimits, async (client) => {
    const { rows } = await client.query<{ version: string }>("select pg_catalog.current_setting('server_version') as version");
    return { version: rows[0]?.version ?? '' };
  });
  return { version, durationMs: performance.now() - begin };
}

/** One read at a time, cached for `maxAgeMs`; a failure is not cached. */
function cache(read: () => Promise<Survey>, maxAgeMs: number): () => Promise<Survey> {
  let entry: { at: number; value: Promise<Survey> } | undefined;
  return async () => {
    if (entry === undefined || performance.now() - entry.at > maxAgeMs) entry = { at: performance.now(), value: read() };
    const current = entry;
    try {
      return await current.value;
    } catch (cause) {
      if (entry === current) entry = undefined;
      throw cause;
    }
  };
}

const transactionsAs = (pool: ConnectionPool, login: Login): Transactions =>
  transactionsOn((limits, work) => pool.use(login, limits, work));

/** Transactions of one scope, under its role where it has one. */
const transactionsWithin = (pool: ConnectionPool, roles: Roles, scope: ResolvedScope): Transactions => ({
  async transaction(access, limits, work) {
    const first = await roles.loginFor(scope, access, limits.signal);
    try {
      return await transactionsAs(pool, first.login).transaction(access, limits, work);
    } catch (cause) {
      // The transaction was rolled back, so it can run a second time.
      if (first.plan === undefined || !isAboutRole(cause)) throw cause;
      const second = await roles.checkAgain(first, cause, limits.signal);
      if (second === first) return failAfterReport(roles, first, cause);
      return await transactionsAs(pool, second.login)
        .transaction(access, limits, work)
        .catch((secondCause: unknown) => failAfterReport(roles, second, secondCause));
    }
  },
});

const denied = '42501';

const isAboutRole = (cause: unknown): cause is DataFailure =>
  cause instanceof LoginRefused || (cause instanceof DataFailure && cause.sqlState === denied);

function failAfterReport(roles: Roles, login: ScopeLogin, cause: unknown): never {
  if (cause instanceof DataFailure && cause.sqlState === denied) roles.reportDenial(login);
  throw cause;
}

/** The data sources of many organizations, each opened at its first use. */
export interface DataSources {
  /** The source under this key. Other settings than before replace the open source. */
  get(key: string, settings: DataSourceSettings): DataSource;
  /** Closes one that was removed. */
  remove(key: string): void;
}

const maxSources = 200;

interface Entry {
  readonly settings: string;
  readonly source: DataSource;
}

/** At most `maxSources` are open: the least recently used one is closed first, after its statements have ended. */
export function openDataSources(process: ProcessContext): DataSources {
  const closing = new Set<Promise<void>>();
  const listeners = listenersOf(process);
  const entries = new LRUCache<string, Entry>({
    max: maxSources,
    dispose({ source }) {
      const closed = source
        .close()
        .catch(listeners.onLost)
        .finally(() => closing.delete(closed));
      closing.add(closed);
    },
  });

  process.onStop('data sources', async () => {
    entries.clear();
    await Promise.all(closing);
  });
  return {
    get(key, settings) {
      const settingsJson = JSON.stringify(settings);
      const current = entries.get(key);
      if (current?.settings === settingsJson) return current.source;
      const source = createDataSource(settings, listeners);
      entries.set(key, { settings: settingsJson, source });
      return source;
    },
    remove: (key) => void entries.delete(key),
  };
}
