import { createBackoff, createSemaphore, type Semaphore, SemaphoreError, sleep } from '@agent-service/work';
import pg, { type Pool, type PoolClient, type PoolConfig } from 'pg';
import { cancelled, DataFailure } from '../failure.ts';
import { translateFailure, translateRejection } from './database-message.ts';
import { type ConnectionLimits, createGuard, resetSession, socketOf } from './guard.ts';
import { GuardedClient } from './guarded-client.ts';

/** The account or role of a connection. */
export interface Login {
  readonly driver: PoolConfig;
}

/** The connections to one database, at most `max` at once for all logins together. */
export interface ConnectionPool {
  /** Runs the work with a connection, within the limits and in the order of the calls. */
  use<T>(login: Login, limits: ConnectionLimits, work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Closes the connections of the login, so that its next use connects again. */
  renew(login: Login): void;
  /** Lets uses that run or wait end first, with those that follow them at once; refuses later ones. */
  close(): Promise<void>;
}

interface ConnectionPoolOptions {
  readonly max: number;
  readonly queueTimeoutMs: number | undefined;
  /** Called when an idle connection broke. The next use replaces it. */
  readonly onLost: (failure: DataFailure) => void;
}

/** More callers would not get a connection in time. */
const maxWaiting = 1_000;

export function createConnectionPool({ max, queueTimeoutMs, onLost }: ConnectionPoolOptions): ConnectionPool {
  // As many permits as connections: the time limit of the driver's pool then applies only to connecting, so a caller that waits
  // for a permit does not fail as if the database could not be reached.
  const semaphore = createSemaphore(max, { maxWaiting });
  const pools = createLoginPools(max, onLost);
  const abandoned = createAbandonedSessions();
  const uses = new Set<Promise<unknown>>();

  async function useOnce<T>(login: Login, limits: ConnectionLimits, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const release = await acquirePermit(semaphore, { limitMs: queueTimeoutMs, signal: limits.signal });
    let cutSession: Session | undefined;
    try {
      const client = await pools.connect(login).catch((cause: unknown) => {
        throw translateRejection(cause);
      });
      try {
        return await guarded(client, limits, work);
      } finally {
        if (socketOf(client).destroyed) cutSession = sessions.get(client);
      }
    } finally {
      // The database may still run a statement that it cannot interrupt: the permit is released when the session has ended.
      if (cutSession === undefined) release();
      else void abandoned.untilEnded(cutSession, { driver: login.driver, terminate: limits.isReadOnly === true }).then(release);
    }
  }

  return {
    use(login, limits, work) {
      const use = useOnce(login, limits, work).finally(() => uses.delete(use));
      uses.add(use);
      return use;
    },
    renew: pools.renew,
    async close() {
      while (uses.size > 0) {
        await Promise.allSettled(uses);
        // A transaction that waited for its role begins its own use now.
        await new Promise(setImmediate);
      }
      abandoned.close();
      await pools.close();
    },
  };
}

interface LoginPools {
  connect(login: Login): Promise<PoolClient>;
  renew(login: Login): void;
  close(): Promise<void>;
}

/** One pool of the driver for each login, with at most `max` connections in all pools together. */
function createLoginPools(max: number, onLost: ConnectionPoolOptions['onLost']): LoginPools {
  const pools = new Map<Login, Pool>();
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  function end(login: Login, pool: Pool): void {
    pools.delete(login);
    const ended = pool.end().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function poolOf(login: Login): Pool {
    const known = pools.get(login);
    if (known) return known;
    const pool = new pg.Pool({ ...login.driver, max, Client: GuardedClient });
    // The guard reports errors of a connection in use; without a listener the driver throws them.
    pool.on('error', (cause) => onLost(translateFailure(cause)));
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool.on('remove', () => endIfEmpty(login, pool));
    pools.set(login, pool);
    return pool;
  }

  /** Removes the pool of an unused login. */
  function endIfEmpty(login: Login, pool: Pool): void {
    if (pool.totalCount === 0 && pool.waitingCount === 0 && pools.get(login) === pool) end(login, pool);
  }

  /** When all connections are open: the pool of another login that has an idle one. */
  function findSpare(login: Login): Pool | undefined {
    const own = pools.get(login);
    if (own && hasSpare(own)) return undefined;
    const open = [...pools.values()].reduce((sum, { totalCount }) => sum + totalCount, 0);
    return open < max ? undefined : [...pools.values()].find((pool) => pool !== own && hasSpare(pool));
  }

  async function connect(login: Login): Promise<PoolClient> {
    const other = findSpare(login);
    if (other) (await other.connect()).release(true);
    if (isClosed) throw new DataFailure('unavailable', 'The data source cannot be reached at the moment.');
    const pool = poolOf(login);
    try {
      return await pool.connect();
    } catch (cause) {
      // The pool was ended while this caller waited for one of its connections.
      const wasRenewed = pools.get(login) !== pool;
      endIfEmpty(login, pool);
      if (wasRenewed && !isClosed) return await connect(login);
      throw cause;
    }
  }

  return {
    connect,
    renew(login) {
      const pool = pools.get(login);
      if (pool) end(login, pool);
    },
    async close() {
      isClosed = true;
      for (const [login, pool] of pools) end(login, pool);
      await Promise.all(ending);
    },
  };
}

const hasSpare = ({ idleCount, waitingCount }: Pool): boolean => idleCount > waitingCount;

/** Runs the work with a connection. Returns it to its pool when the work has ended and the session was reset, and closes it otherwise. */
async function guarded<T>(client: PoolClient, limits: ConnectionLimits, work: (client: PoolClient) => Promise<T>): Promise<T> {
  // The caller may have left while the connection was made.
  if (limits.signal?.aborted) {
    client.release();
    throw cancelled(limits.signal.reason);
  }
  const guard = createGuard(client, limits);
  const working = prepareSession(client).then(() => work(client));
  working.catch(() => undefined);
  try {
    return await Promise.race([working, guard.failure]);
  } catch (cause) {
    throw guard.reason ?? translateFailure(cause);
  } finally {
    const isReset = guard.end() && (await resetSession(client, checksClient.has(client) ? [checkText] : []));
    client.release(!isReset);
  }
}

const prepared = new WeakSet<PoolClient>();
const checksClient = new WeakSet<PoolClient>();
const sessions = new WeakMap<PoolClient, Session>();
const checkText = 'set client_connection_check_interval = 1000';

/**
 * Makes the database check each second that its client is connected, so that a cut connection ends its statement too. Where it cannot
 * check (before version 14, on some systems), the time limit of the statement ends it.
 */
async function prepareSession(client: PoolClient): Promise<void> {
  if (prepared.has(client)) return;
  prepared.add(client);
  await client.query(checkText).catch((cause: unknown) => {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
  });
  const { rows } = await client.query<{ set: string | null }>(
    `select pg_catalog.current_setting('client_connection_check_interval', true) as set`,
  );
  if (rows[0]?.set === '1s') checksClient.add(client);
  const session = await sessionOf(client);
  if (session) sessions.set(client, session);
}

/** A session of the database. A later session may have the same process number, but not the same start. */
interface Session {
  readonly pid: number;
  readonly startedAt: string;
}

/** Sessions whose connection was cut while the database ran their statement. */
interface AbandonedSessions {
  /** Resolves when the session has ended or `maxWaitMs` have passed. Never rejects. */
  untilEnded(session: Session, options: EndOptions): Promise<void>;
  close(): void;
}

interface EndOptions {
  readonly driver: PoolConfig;
  /** Terminates the session as soon as the database can. */
  readonly terminate: boolean;
}

/** Some statements cannot be interrupted; a session counts as running for at most this time. */
const maxWaitMs = 600_000;
/** After this time without an answer the session counts as ended: the database is unreachable, or the login no longer exists. */
const maxSilenceMs = 30_000;
const pauseAfter = createBackoff({ firstMs: 50, maxMs: 2_000 });

const startedAt = `pg_catalog.to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS.US')`;

/** Undefined behind a pooler, where the connection's process number is not that of the session. */
async function sessionOf(client: PoolClient): Promise<Session | undefined> {
  const { rows } = await client.query<{ pid: number; started_at: string | null }>(
    `select pid, ${startedAt} as started_at from pg_catalog.pg_stat_activity where pid operator(pg_catalog.=) pg_catalog.pg_backend_pid()`,
  );
  const [row] = rows;
  const pid = (client as unknown as { processID?: number | null }).processID;
  return row?.started_at && row.pid === pid ? { pid: row.pid, startedAt: row.started_at } : undefined;
}

function createAbandonedSessions(): AbandonedSessions {
  const closing = new AbortController();
  // At most one connection beyond `max`.
  const semaphore = createSemaphore(1);

  async function isOver(session: Session, { driver, terminate }: EndOptions): Promise<boolean> {
    const release = await semaphore.acquire({ signal: closing.signal });
    const client = new GuardedClient({ ...driver, statement_timeout: 2_000, query_timeout: 3_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query(
        `select ${terminate ? 'pg_catalog.pg_terminate_backend(pid)' : ''} from pg_catalog.pg_stat_activity
          where pid operator(pg_catalog.=) $1::pg_catalog.int4 and ${startedAt} operator(pg_catalog.=) $2::pg_catalog.text`,
        [session.pid, session.startedAt],
      );
      return rows.length === 0;
    } finally {
      release();
      await client.end().catch(() => undefined);
    }
  }

  return {
    async untilEnded(session, options) {
      const begin = performance.now();
      let answeredAt = begin;
      for (let checks = 1; !closing.signal.aborted; checks += 1) {
        try {
          if (await isOver(session, options)) return;
          answeredAt = performance.now();
        } catch {
          if (performance.now() - answeredAt > maxSilenceMs) return;
        }
        if (performance.now() - begin > maxWaitMs) return;
        await sleep(pauseAfter(checks), closing.signal);
      }
    },
    close: () => closing.abort(),
  };
}

/** Acquires a permit. Rejects as cancelled when the caller cancels, and as unavailable when it waited too long. */
export async function acquirePermit(semaphore: Semaphore, wait: NonNullable<Parameters<Semaphore['acquire']>[0]>): Promise<() => void> {
  try {
    return await semaphore.acquire(wait);
  } catch (cause) {
    if (cause instanceof SemaphoreError)
      throw new DataFailure('unavailable', 'The data source is busy with other queries. It can be tried again.', cause);
    throw cancelled(cause);
  }
}
