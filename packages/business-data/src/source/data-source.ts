import { type ProcessContext, withTimeout } from '@agent-service/runtime';
import pg, { type Pool, type PoolClient } from 'pg';
import type { Catalog } from '../domain/catalog.ts';
import { type ConnectionSettings, poolSettings } from './connection.ts';
import { translateFailure } from './database-message.ts';
import { cancelled, DataFailure } from './failure.ts';
import { LimitedQuery, type RawResult } from './limited-query.ts';
import { createPlaces, type Places } from './places.ts';
import { readCatalog } from './read-catalog.ts';
import { type Access, beginText } from './session.ts';

/** What one statement may take. */
export interface Limits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly timeZone: string;
  readonly signal?: AbortSignal | undefined;
}

/** One statement of a transaction: refused by the database, or its rows as far as the limits go. */
export type Run = (text: string, values?: readonly (string | null)[]) => Promise<RawResult>;

/** An organization's database, as one account of it. */
export interface DataSource {
  /** Runs the work in one transaction within the limits. Reading rolls back, writing commits when the work resolves. */
  transaction<T>(access: Access, limits: Limits, work: (run: Run) => Promise<T>): Promise<T>;
  /** What tables there are; read anew when older than `catalogMaxAgeMs`. */
  catalog(): Promise<Catalog>;
  /** Whether it can be reached and read, now. */
  check(): Promise<{ readonly version: string; readonly durationMs: number }>;
  close(): Promise<void>;
}

export interface DataSourceSettings extends ConnectionSettings {
  readonly catalogMaxAgeMs?: number;
  /** How long a statement waits for those before it; as long as for a connection, unless given. */
  readonly queueTimeoutMs?: number;
}

/** The database answers a cancelled or timed-out statement within this time; else its connection is cut. */
const graceMs = 1_000;
const catalogLimits: Limits = { timeoutMs: 10_000, maxRows: 1, maxBytes: 32 * 1024 * 1024, timeZone: 'UTC' };

/** A source that is closed with the process. It connects when first used. */
export function openDataSource(process: ProcessContext, settings: DataSourceSettings): DataSource {
  const source = createDataSource(settings, (cause) => process.logger.warn({ event: 'data_source_connection_lost', err: cause }));
  process.onStop('data source', () => source.close());
  return source;
}

export function createDataSource(settings: DataSourceSettings, onLost: (cause: unknown) => void): DataSource {
  const driver = poolSettings(settings);
  const pool = new pg.Pool(driver);
  const queueTimeoutMs = settings.queueTimeoutMs ?? driver.connectionTimeoutMillis;
  const lender: Lender = { pool, places: createPlaces(driver.max ?? 1), queueTimeoutMs };
  // An idle connection that breaks is replaced by the next use; of one in use its user hears by the guard.
  // The driver hangs the whole connection on its error.
  pool.on('error', (cause) => onLost(translateFailure(cause)));
  pool.on('connect', (client) => client.on('error', () => undefined));
  const readAnew = () => withClient(lender, catalogLimits, (client) => readInTransaction(client));
  return {
    transaction: (access, limits, work) => transaction(lender, access, limits, work),
    catalog: keep(readAnew, settings.catalogMaxAgeMs ?? 30_000),
    async check() {
      const begin = performance.now();
      const { version } = await withClient(lender, catalogLimits, async (client) => {
        const { rows } = await client.query<{ version: string }>("select pg_catalog.current_setting('server_version') as version");
        return { version: rows[0]?.version ?? '' };
      });
      return { version, durationMs: performance.now() - begin };
    },
    close: () => pool.end(),
  };
}

/** One read at a time, kept for a while; a failed one is not kept. */
function keep<T>(read: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let kept: { at: number; value: Promise<T> } | undefined;
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

interface Lender {
  readonly pool: Pool;
  /** As many as the pool has connections: its own limit is then that of connecting alone, and says of nobody who waits that the database is away. */
  readonly places: Places;
  readonly queueTimeoutMs: number | undefined;
}

async function withClient<T>(lender: Lender, limits: Limits, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const giveBack = await lender.places.take({ waitMs: lender.queueTimeoutMs, signal: limits.signal });
  try {
    return await withConnection(lender.pool, limits, work);
  } finally {
    giveBack();
  }
}

/**
 * Lends a connection for as long as the limits allow. It goes back to the pool only when the work has ended by itself: a connection
 * that had to be left in the middle of something is cut.
 */
async function withConnection<T>(pool: Pool, limits: Limits, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await connect(pool);
  const guard = createGuard(client, limits);
  const working = noticeLeaving(client).then(() => work(client));
  working.catch(() => undefined);
  try {
    const result = await Promise.race([working, guard.broken]);
    client.release(!guard.end());
    return result;
  } catch (cause) {
    const isUsable = guard.end() && (await isIdle(client));
    client.release(!isUsable);
    throw guard.reason ?? translateFailure(cause);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (cause) {
    throw translateFailure(cause);
  }
}

const prepared = new WeakSet<PoolClient>();

/**
 * Has the database look each second whether its client is still there, so that a cut connection ends its statement too. Where it can
 * not (before version 14, on some systems), the statement's own time limit does.
 */
async function noticeLeaving(client: PoolClient): Promise<void> {
  if (prepared.has(client)) return;
  prepared.add(client);
  const text = `do $$ begin perform pg_catalog.set_config('client_connection_check_interval', '1000', false);
    exception when others then null; end $$`;
  await client.query(text);
}

interface Guard {
  readonly broken: Promise<never>;
  readonly reason: DataFailure | undefined;
  /** Stops guarding; whether the connection is still whole. */
  end(): boolean;
}

/** Cuts the connection when the caller leaves, or when the database does not keep to the time that it was given. */
function createGuard(client: PoolClient, { timeoutMs, signal }: Limits): Guard {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  let reason: DataFailure | undefined;
  const cut = (failure: DataFailure) => {
    reason ??= failure;
    socketOf(client).destroy();
    reject(failure);
  };
  const onAbort = () => cut(cancelled(signal?.reason));
  const onError = (cause: unknown) => reject(translateFailure(cause));
  const timer = setTimeout(() => cut(silent()), timeoutMs + graceMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  client.on('error', onError);
  return {
    broken,
    get reason() {
      return reason;
    },
    end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      client.removeListener('error', onError);
      return reason === undefined && !socketOf(client).destroyed;
    },
  };
}

/** A server that is there ends a statement in time, and says so itself. */
const silent = () => new DataFailure('unavailable', 'The data source did not answer in time.');

interface Socket {
  readonly destroyed: boolean;
  destroy(): void;
  on(event: 'data', listener: (chunk: Buffer) => void): void;
  removeListener(event: 'data', listener: (chunk: Buffer) => void): void;
}

/** The types of the driver leave its socket out. */
const socketOf = (client: PoolClient): Socket => (client as unknown as { connection: { stream: Socket } }).connection.stream;

async function isIdle(client: PoolClient): Promise<boolean> {
  try {
    await withTimeout(client.query('rollback'), graceMs, silent);
    return true;
  } catch {
    // The connection is lost or silent, and its transaction with it: whoever asked gets the first failure, not this one.
    return false;
  }
}

interface Fate {
  /** From here on only the server's word says whether the change was kept. */
  isCommitting: boolean;
}

async function transaction<T>(lender: Lender, access: Access, limits: Limits, work: (run: Run) => Promise<T>): Promise<T> {
  const fate: Fate = { isCommitting: false };
  try {
    return await withClient(lender, limits, (client) => inTransaction(client, access, { limits, fate }, work));
  } catch (cause) {
    // A server that refuses to commit says so; whoever else ends the wait knows nothing of the change.
    if (!fate.isCommitting || (cause instanceof DataFailure && cause.kind === 'failed')) throw cause;
    throw new DataFailure('unknown', 'The data source was lost during the change: it may have been written.', cause);
  }
}

async function inTransaction<T>(
  client: PoolClient,
  access: Access,
  { limits, fate }: { limits: Limits; fate: Fate },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  await client.query(beginText(access, limits));
  const result = await work((text, values = []) => runLimited(client, text, values, limits));
  if (socketOf(client).destroyed) {
    if (access === 'read only') return result;
    throw new DataFailure('failed', 'The result of the change is too large; nothing was changed.');
  }
  fate.isCommitting = access === 'read write';
  await client.query(fate.isCommitting ? 'commit' : 'rollback');
  return result;
}

/** Bytes are counted as they arrive, before anything is parsed: one value may be as large as a gigabyte. */
async function runLimited(client: PoolClient, text: string, values: readonly (string | null)[], limits: Limits): Promise<RawResult> {
  const query = new LimitedQuery(text, values, limits.maxRows);
  const socket = socketOf(client);
  const full = Promise.withResolvers<RawResult>();
  let bytes = 0;
  const count = ({ length }: Buffer) => {
    bytes += length;
    if (bytes <= limits.maxBytes) return;
    full.resolve(query.soFar());
    socket.destroy();
  };
  // When the rest is cut off, nobody waits for its end any more.
  query.result.catch(() => undefined);
  socket.on('data', count);
  try {
    client.query(query);
    return await Promise.race([full.promise, query.result]);
  } finally {
    socket.removeListener('data', count);
  }
}

async function readInTransaction(client: PoolClient): Promise<Catalog> {
  await client.query('begin transaction read only; set local statement_timeout = 10000; set local lock_timeout = 2000');
  const catalog = await readCatalog(client);
  await client.query('rollback');
  return catalog;
}
