import pg, { type Pool, type PoolClient, type PoolConfig } from 'pg';
import { createAbandonedSessions, type Session, sessionOf } from './abandoned-sessions.ts';
import { translateFailure, translateRejection } from './database-message.ts';
import { DataFailure } from './failure.ts';
import { createGuard, resetSession, socketOf } from './guard.ts';
import type { Lending } from './limits.ts';
import { createPlaces, type Places } from './places.ts';

/** Who connects. */
export interface Login {
  readonly driver: PoolConfig;
}

/** The connections to one database, whoever they are logged in as: never more at once than one login alone might have. */
export interface Lender {
  /** Lends a connection for as long as the limits allow, in the order in which they were asked for. */
  lend<T>(login: Login, limits: Lending, work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Its connections are closed; the next one that is lent is new. */
  renew(login: Login): void;
  close(): Promise<void>;
}

export interface LenderOptions {
  readonly most: number;
  readonly queueTimeoutMs: number | undefined;
  /** Told of an idle connection that broke. The next use replaces it. */
  readonly onLost: (failure: DataFailure) => void;
}

export function createLender({ most, queueTimeoutMs, onLost }: LenderOptions): Lender {
  // As many as there may be connections: a pool's own limit is then that of connecting alone, and says of nobody who waits that the
  // database is away.
  const places: Places = createPlaces(most);
  const pools = new Map<Login, Pool>();
  const ending = new Set<Promise<void>>();
  const abandoned = createAbandonedSessions();
  let isClosed = false;

  function end(login: Login, pool: Pool): void {
    pools.delete(login);
    const ended = pool.end().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function poolOf(login: Login): Pool {
    const kept = pools.get(login);
    if (kept) return kept;
    const pool = new pg.Pool({ ...login.driver, max: most });
    // Of a connection in use its user hears by the guard; the driver hangs the whole connection on its error.
    pool.on('error', (cause) => onLost(translateFailure(cause)));
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool.on('remove', () => endIfEmpty(login, pool));
    pools.set(login, pool);
    return pool;
  }

  /** A login that is not used any more leaves nothing behind. */
  function endIfEmpty(login: Login, pool: Pool): void {
    if (pool.totalCount === 0 && pool.waitingCount === 0 && pools.get(login) === pool) end(login, pool);
  }

  /** Where there are as many connections as there may be: another login's that nobody uses. */
  function inTheWay(login: Login): Pool | undefined {
    const own = pools.get(login);
    if (own && isSpare(own)) return undefined;
    const open = [...pools.values()].reduce((sum, { totalCount }) => sum + totalCount, 0);
    return open < most ? undefined : [...pools.values()].find((pool) => pool !== own && isSpare(pool));
  }

  async function connect(login: Login): Promise<PoolClient> {
    const other = inTheWay(login);
    if (other) (await other.connect()).release(true);
    if (isClosed) throw new DataFailure('unavailable', 'The data source can not be reached at the moment.');
    const pool = poolOf(login);
    try {
      return await pool.connect();
    } catch (cause) {
      // Under somebody who waited for one of its connections.
      const wasRenewed = pools.get(login) !== pool;
      endIfEmpty(login, pool);
      if (wasRenewed && !isClosed) return await connect(login);
      throw cause;
    }
  }

  return {
    async lend(login, limits, work) {
      const giveBack = await places.take({ waitMs: queueTimeoutMs, signal: limits.signal });
      let left: Session | undefined;
      try {
        const client = await admitted(connect(login));
        try {
          return await guarded(client, limits, work);
        } finally {
          if (socketOf(client).destroyed) left = sessions.get(client);
        }
      } finally {
        // The database may go on with a statement that it cannot interrupt: the next one would run beside it.
        if (left === undefined) giveBack();
        else void abandoned.untilEnded(left, { driver: login.driver, terminate: limits.isReadOnly === true }).then(giveBack);
      }
    },
    renew(login) {
      const pool = pools.get(login);
      if (pool) end(login, pool);
    },
    async close() {
      isClosed = true;
      abandoned.close();
      for (const [login, pool] of pools) end(login, pool);
      await Promise.all(ending);
    },
  };
}

async function admitted(connecting: Promise<PoolClient>): Promise<PoolClient> {
  try {
    return await connecting;
  } catch (cause) {
    throw translateRejection(cause);
  }
}

const isSpare = ({ idleCount, waitingCount }: Pool): boolean => idleCount > waitingCount;

/**
 * A connection goes back to its pool only when the work has ended by itself and its session is reset: one that had to be left in the
 * middle of something is closed.
 */
async function guarded<T>(client: PoolClient, limits: Lending, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const guard = createGuard(client, limits);
  const working = noticeLeaving(client).then(() => work(client));
  working.catch(() => undefined);
  try {
    return await Promise.race([working, guard.broken]);
  } catch (cause) {
    throw guard.reason ?? translateFailure(cause);
  } finally {
    const isReset = guard.end() && (await resetSession(client, canNotice.has(client) ? [noticeText] : []));
    client.release(!isReset);
  }
}

const asked = new WeakSet<PoolClient>();
const canNotice = new WeakSet<PoolClient>();
const sessions = new WeakMap<PoolClient, Session>();
const noticeText = 'set client_connection_check_interval = 1000';

/**
 * Has the database look each second whether its client is still there, so that a cut connection ends its statement too. Where it can
 * not (before version 14, on some systems), the statement's own time limit does.
 */
async function noticeLeaving(client: PoolClient): Promise<void> {
  if (asked.has(client)) return;
  asked.add(client);
  await client.query(`do $$ begin perform pg_catalog.set_config('client_connection_check_interval', '1000', false);
    exception when others then null; end $$`);
  const { rows } = await client.query<{ set: string | null }>(
    `select pg_catalog.current_setting('client_connection_check_interval', true) as set`,
  );
  if (rows[0]?.set === '1s') canNotice.add(client);
  const session = await sessionOf(client);
  if (session) sessions.set(client, session);
}
