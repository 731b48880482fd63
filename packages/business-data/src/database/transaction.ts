import type { Connection, PoolClient, Submittable } from 'pg';
import { DataFailure } from '../failure.ts';
import { type ConnectionLimits, socketOf } from './guard.ts';

/** Limits of one statement. */
export interface Limits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly timeZone: string;
  readonly signal?: AbortSignal | undefined;
}

export type Access = 'read only' | 'read write';

/** One statement of a transaction: refused by the database, or its rows as far as the limits go. */
export type Run = (text: string, values?: readonly (string | null)[]) => Promise<RawResult>;

/** Somewhere to run statements. */
export interface Transactions {
  /** Runs the work in one transaction within the limits. Writing commits when the work resolves; reading rolls back with the reset of its session. */
  transaction<T>(access: Access, limits: Limits, work: (run: Run) => Promise<T>): Promise<T>;
}

type Lend = <T>(limits: ConnectionLimits, work: (client: PoolClient) => Promise<T>) => Promise<T>;

interface Fate {
  /** From here on only the server knows whether the change was committed. */
  isCommitting: boolean;
}

export const transactionsOn = (lend: Lend): Transactions => ({
  async transaction(access, limits, work) {
    const fate: Fate = { isCommitting: false };
    try {
      return await lend({ ...limits, isReadOnly: access === 'read only' }, (client) =>
        inTransaction(client, access, { limits, fate }, work),
      );
    } catch (cause) {
      // Only an error of the server says that nothing was committed; after a timeout or a lost connection that is not known.
      if (!fate.isCommitting || (cause instanceof DataFailure && cause.kind === 'failed')) throw cause;
      throw new DataFailure('unknown', 'The data source was lost during the change: it may have been written.', cause);
    }
  },
});

async function inTransaction<T>(
  client: PoolClient,
  access: Access,
  { limits, fate }: { limits: Limits; fate: Fate },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  await client.query(beginText(access, limits));
  const result = await work((text, values = []) => runLimited(client, text, values, limits));
  if (socketOf(client).destroyed && access === 'read write')
    throw new DataFailure('failed', 'The result of the change is too large; nothing was changed.');
  if (access === 'read only') return result;
  fate.isCommitting = true;
  await client.query('commit');
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
  // Not awaited when the rest is cut off.
  query.result.catch(() => undefined);
  socket.on('data', count);
  try {
    client.query(query);
    return await Promise.race([full.promise, query.result]);
  } finally {
    socket.removeListener('data', count);
  }
}

/**
 * Begins a transaction in which every setting that could change a statement's meaning or let it wait is given: one text, one round
 * trip, and nothing of it outlives the transaction, so that a pooler between here and the database does no harm.
 */
function beginText(access: Access, { timeoutMs, timeZone }: Limits): string {
  return [
    `begin transaction isolation level read committed ${access}`,
    `set local statement_timeout = ${timeoutMs}`,
    `set local lock_timeout = ${Math.min(timeoutMs, 2_000)}`,
    `set local idle_in_transaction_session_timeout = ${timeoutMs + 2_000}`,
    'set local search_path = pg_catalog, pg_temp',
    'set local standard_conforming_strings = on',
    'set local row_security = on',
    `set local timezone = '${timeZone.replaceAll("'", "''")}'`,
    `set local datestyle = 'ISO, YMD'`,
    `set local intervalstyle = 'postgres'`,
    `set local bytea_output = 'hex'`,
    'set local extra_float_digits = 1',
    'set local transform_null_equals = off',
    'set local jit = off',
  ].join('; ');
}

interface RawColumn {
  readonly name: string;
  readonly typeId: number;
}

export interface RawResult {
  readonly columns: readonly RawColumn[];
  /** Values in PostgreSQL's text format. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** There are more rows than were asked for. */
  readonly more: boolean;
}

interface WireField {
  readonly name: string;
  readonly dataTypeID: number;
}

/** The parts of the driver's connection that the extended protocol needs. */
interface Wire {
  parse(message: { text: string }): void;
  bind(message: { values: readonly (string | null)[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
  sendCopyFail(reason: string): void;
  readonly stream: { cork?(): void; uncork?(): void };
}

/**
 * One statement by the extended protocol, in which a second statement in the text is an error, and by which the server stops after
 * the asked number of rows. Nothing but rows comes out; what COPY would send or take is dropped.
 */
class LimitedQuery implements Submittable {
  readonly result: Promise<RawResult>;
  readonly #text: string;
  readonly #values: readonly (string | null)[];
  readonly #maxRows: number;
  readonly #settle = Promise.withResolvers<RawResult>();
  #columns: readonly RawColumn[] = [];
  readonly #rows: (readonly (string | null)[])[] = [];

  constructor(text: string, values: readonly (string | null)[], maxRows: number) {
    this.#text = text;
    this.#values = values;
    this.#maxRows = maxRows;
    this.result = this.#settle.promise;
  }

  /** The rows received so far; used when the rest is cut off. */
  soFar(): RawResult {
    return { columns: this.#columns, rows: this.#rows.slice(0, this.#maxRows), more: true };
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    wire.stream.cork?.();
    wire.parse({ text: this.#text });
    wire.bind({ values: this.#values });
    wire.describe({ type: 'P', name: '' });
    // One more than asked for tells whether there is more.
    wire.execute({ portal: '', rows: this.#maxRows + 1 });
    wire.sync();
    wire.stream.uncork?.();
  }

  handleRowDescription({ fields }: { fields: readonly WireField[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, typeId: dataTypeID }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    this.#rows.push(fields);
  }

  handlePortalSuspended(): void {
    // As many rows as were asked for have come; `#rows` says whether that was one too many.
  }

  handleError(cause: unknown): void {
    this.#settle.reject(cause);
  }

  handleReadyForQuery(): void {
    this.#settle.resolve({ columns: this.#columns, rows: this.#rows.slice(0, this.#maxRows), more: this.#rows.length > this.#maxRows });
  }

  handleCopyInResponse(connection: Connection): void {
    (connection as unknown as Wire).sendCopyFail('not available');
  }

  handleCommandComplete(): void {
    // The end is what follows it: only then is the connection free again.
  }

  handleEmptyQuery(): void {
    // As above: an empty text has no rows.
  }

  handleCopyData(): void {
    // Not rows: dropped.
  }
}
