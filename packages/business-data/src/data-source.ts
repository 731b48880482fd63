import type { ProcessContext } from '@agent-service/runtime';
import { type ConnectionSettings, poolSettings } from './database/connection.ts';
import { type ConnectionPool, createConnectionPool, type Login } from './database/connection-pool.ts';
import { readSurvey, type Survey } from './database/read-survey.ts';
import { type Transactions, transactionsOn } from './database/transaction.ts';
import { DataFailure, NotAdmitted } from './failure.ts';
import { createRoles, obstacleToRoles, type RoleNotice, type Roles, type ScopeLogin } from './roles/roles.ts';
import type { Catalog } from './scope/catalog.ts';
import type { ResolvedScope } from './scope/scope.ts';

/** An organization's database, as one account of it. */
export interface DataSource extends Transactions {
  /** The same under a role that holds no more than this scope, where the settings ask for one and the database lets us make it. */
  within(scope: ResolvedScope): Transactions;
  /** The tables of the database; read again when older than `catalogMaxAgeMs`. */
  catalog(): Promise<Catalog>;
  /** Connects and reads; rejects when that fails. */
  check(): Promise<{ readonly version: string; readonly durationMs: number }>;
  /** Says whether the database allows roles for scopes, and why not. */
  roleGate(): Promise<RoleGate>;
  close(): Promise<void>;
}

export interface DataSourceSettings extends ConnectionSettings {
  readonly catalogMaxAgeMs?: number;
  /** How long a statement waits for those before it; as long as for a connection, unless given. */
  readonly queueTimeoutMs?: number;
  /** Each scope's statements run under a role of its own. Without it all run as the account. */
  readonly roles?: RoleSettings;
  /** Refuses an account that can do more to its server than read and write data, now or later. */
  readonly refuseSuperuser?: boolean;
  /** Counts how often it was connected: what was found out before counts no more. */
  readonly version?: number;
}

/** A data source as its operator connected it. */
export interface DataSourceConnection {
  readonly url: string;
  /** In PEM; empty for the certificate authorities that Node trusts. */
  readonly ca: string;
  /** Allows an account that can do more to its server than read and write data. */
  readonly allowSuperuser: boolean;
}

/** A certificate authority of the operator's own is always verified. */
export const toDataSourceSettings = ({ url, ca, allowSuperuser }: DataSourceConnection): DataSourceSettings => ({
  url,
  refuseSuperuser: !allowSuperuser,
  ...(ca !== '' && { tls: { mode: 'verify', ca } }),
});

export interface RoleGate {
  readonly isActive: boolean;
  /** Why it is not, or for which tables it is not; empty where it always is. */
  readonly reason: string;
}

interface RoleSettings {
  /** The owner of the scopes: no role is shared between two tenants. */
  readonly tenant: string;
  readonly now?: () => number;
}

export interface Listeners {
  /** Told of an idle connection that broke. */
  readonly onLost: (cause: unknown) => void;
  readonly onNotice: (notice: RoleNotice) => void;
}

const surveyLimits = { timeoutMs: 10_000 };

/** A source that is closed with the process. It connects when first used. */
export function openDataSource(process: ProcessContext, settings: DataSourceSettings): DataSource {
  const source = createDataSource(settings, listenersOf(process));
  process.onStop('data source', () => source.close());
  return source;
}

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
  const kept = keep(() => pool.use(account, surveyLimits, readSurvey), settings.catalogMaxAgeMs ?? 30_000);
  const survey = settings.refuseSuperuser ? async () => requireHarmless(await kept()) : kept;
  const plain = transactionsAs(pool, account);
  const roles = settings.roles && rolesFor(settings.roles, { url: settings.url, account, pool, survey, onNotice });
  return {
    ...plain,
    within: (scope) => (roles ? transactionsWithin(pool, roles, scope) : plain),
    catalog: async () => (await survey()).catalog,
    check: () => check(pool, account),
    roleGate: async () => roleGateOf(await survey(), driver.password),
    close: async () => void (await Promise.all([pool.close(), roles?.close()])),
  };
}

const rolesFor = (
  { tenant, now = () => performance.now() }: RoleSettings,
  parts: Omit<Parameters<typeof createRoles>[0], 'tenant' | 'now'>,
): Roles => createRoles({ ...parts, tenant, now });

function requireHarmless(survey: Survey): Survey {
  if (survey.power === undefined) return survey;
  const text = `The account of the data source ${survey.power}. Connect an account that is not, or allow it with --allow-superuser.`;
  throw new DataFailure('refused', text);
}

function roleGateOf(survey: Survey, password: unknown): RoleGate {
  const obstacle = obstacleToRoles(survey, password);
  if (obstacle !== undefined) return { isActive: false, reason: obstacle };
  const byAsker = survey.catalog.tables.filter((table) => survey.isByAsker(table)).map(({ schema, name }) => `${schema}.${name}`);
  if (byAsker.length === 0) return { isActive: true, reason: '' };
  const named = byAsker.slice(0, mostNamed).join(', ');
  const more = byAsker.length > mostNamed ? ` and ${byAsker.length - mostNamed} more` : '';
  return { isActive: true, reason: `not for scopes with tables that show each account rows of its own: ${named}${more}` };
}

const mostNamed = 5;

async function check(pool: ConnectionPool, account: Login): Promise<{ version: string; durationMs: number }> {
  const begin = performance.now();
  const { version } = await pool.use(account, surveyLimits, async (client) => {
    const { rows } = await client.query<{ version: string }>("select pg_catalog.current_setting('server_version') as version");
    return { version: rows[0]?.version ?? '' };
  });
  return { version, durationMs: performance.now() - begin };
}

/** One read at a time, kept for a while; a failed one is not kept. */
function keep(read: () => Promise<Survey>, maxAgeMs: number): () => Promise<Survey> {
  let kept: { at: number; value: Promise<Survey> } | undefined;
  return async () => {
    if (kept === undefined || performance.now() - kept.at > maxAgeMs) kept = { at: performance.now(), value: read() };
    const mine = kept;
    try {
      return await mine.value;
    } catch (cause) {
      if (kept === mine) kept = undefined;
      throw cause;
    }
  };
}

const transactionsAs = (pool: ConnectionPool, login: Login): Transactions =>
  transactionsOn((limits, work) => pool.use(login, limits, work));

/** Transactions of one scope, under its role where there is one. */
const transactionsWithin = (pool: ConnectionPool, roles: Roles, scope: ResolvedScope): Transactions => ({
  async transaction(access, limits, work) {
    const first = await roles.loginFor(scope, access, limits.signal);
    try {
      return await transactionsAs(pool, first.login).transaction(access, limits, work);
    } catch (cause) {
      // The transaction was rolled back, so that it can run once more.
      if (first.plan === undefined || !isAboutRole(cause)) throw cause;
      const second = await roles.checkAgain(first, cause, limits.signal);
      if (second === first) return failAfterReport(roles, first, cause);
      return await transactionsAs(pool, second.login)
        .transaction(access, limits, work)
        .catch((again: unknown) => failAfterReport(roles, second, again));
    }
  },
});

const denied = '42501';

const isAboutRole = (cause: unknown): cause is DataFailure =>
  cause instanceof NotAdmitted || (cause instanceof DataFailure && cause.sqlState === denied);

function failAfterReport(roles: Roles, login: ScopeLogin, cause: unknown): never {
  if (cause instanceof DataFailure && cause.sqlState === denied) roles.reportDenial(login);
  throw cause;
}

/** The data sources of many organizations, each opened when first asked for. */
export interface DataSources {
  /** The source under this key; one with other settings than before takes the old one's place. */
  get(key: string, settings: DataSourceSettings): DataSource;
  /** Closes one that was removed. */
  remove(key: string): void;
}

const mostSources = 200;

interface Entry {
  readonly settings: string;
  readonly source: DataSource;
}

/** At most `max` are kept open: the one not used for longest goes first, after what runs on it has ended. */
export function openDataSources(process: ProcessContext, max = mostSources): DataSources {
  const entries = new Map<string, Entry>();
  const closing = new Set<Promise<void>>();
  const listeners = listenersOf(process);

  function close(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    const closed = entry.source
      .close()
      .catch(listeners.onLost)
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  process.onStop('data sources', async () => {
    for (const key of [...entries.keys()]) close(key);
    await Promise.all(closing);
  });
  return {
    get(key, settings) {
      const wanted = JSON.stringify(settings);
      const kept = entries.get(key);
      if (kept?.settings !== wanted) close(key);
      const entry = kept?.settings === wanted ? kept : { settings: wanted, source: createDataSource(settings, listeners) };
      entries.delete(key);
      entries.set(key, entry);
      const [oldest] = entries.keys();
      if (entries.size > max && oldest !== undefined) close(oldest);
      return entry.source;
    },
    remove: close,
  };
}
