import type { Connection, PoolClient, Submittable } from 'pg';
import { DataFailure } from '../failure.ts';
import type { ResultUse } from '../result-budget.ts';
import type { ConnectionLimits } from './guard.ts';
import { connectionOf } from './guarded-client.ts';

/** Limits of one statement. */
export interface Limits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly timeZone: string;
  readonly signal?: AbortSignal | undefined;
  /** The bytes of the result in the budget of the process. */
  readonly use?: ResultUse | undefined;
}

export type Access = 'read only' | 'read write';

/** Runs one statement of a transaction and returns its rows up to the limits. Rejects when the database refuses it. */
type Run = (text: string, values?: readonly (string | null)[]) => Promise<RawResult>;

/** A database in which statements run, as one account or role. */
export interface Transactions {
  /** Runs the work in one transaction within the limits. A read-write transaction commits when the work resolves; a read-only one is rolled back by the reset. */
  transaction<T>(access: Access, limits: Limits, work: (run: Run) => Promise<T>): Promise<T>;
}

type UseConnection = <T>(limits: ConnectionLimits, work: (client: PoolClient) => Promise<T>) => Promise<T>;

interface CommitState {
  /** From here on only the server knows whether the change was committed. */
  isCommitting: boolean;
}

export const transactionsOn = (use: UseConnection): Transactions => ({
  async transaction(access, limits, work) {
    const commit: CommitState = { isCommitting: false };
    try {
      return await use({ ...limits, isReadOnly: access === 'read only' }, (client) =>
        inTransaction(client, access, { limits, commit }, work),
      );
    } catch (cause) {
      // Only an error of the server proves that nothing was committed; after a timeout or a lost connection it is unknown.
      if (!commit.isCommitting || (cause instanceof DataFailure && cause.kind === 'failed')) throw cause;
      throw new DataFailure('unknown', 'The connection was lost during the change, which may have been made.', cause);
    }
  },
});

async function inTransaction<T>(
  client: PoolClient,
  access: Access,
  { limits, commit }: { limits: Limits; commit: CommitState },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  await client.query(beginText(access, limits));
  const result = await work(async (text, values = []) => {
    const received = await runLimited(client, text, values, limits);
    // Before the work looks at the rows, some of which are missing.
    if (connectionOf(client).stream.destroyed && access === 'read write')
      throw new DataFailure('failed', 'The result of the change is too large; nothing was changed.');
    return received;
  });
  if (access === 'read only') return result;
  commit.isCommitting = true;
  await client.query('commit');
  return result;
}

/** Counts bytes as they arrive, before they are parsed: a single value may have a gigabyte. */
async function runLimited(client: PoolClient, text: string, values: readonly (string | null)[], limits: Limits): Promise<RawResult> {
  const query = new LimitedQuery(text, values, limits.maxRows);
  const connection = connectionOf(client);
  const { stream: socket, room } = connection;
  const full = Promise.withResolvers<RawResult>();
  let bytes = 0;
  const count = ({ length }: Buffer) => {
    bytes += length;
    if (bytes <= limits.maxBytes) return;
    full.resolve(query.receivedRows());
    socket.destroy();
  };
  // Before the driver parses the bytes, so that the last ones count as well.
  const reserve = ({ length }: Buffer) => {
    if (limits.use?.take(length) !== false) return;
    full.reject(overBudget());
    socket.destroy();
  };
  // It is not awaited when the result is cut off.
  query.result.catch(() => undefined);
  socket.prependListener('data', reserve);
  socket.on('data', count);
  connection.room = Number.POSITIVE_INFINITY;
  try {
    client.query(query);
    return await Promise.race([full.promise, query.result]);
  } finally {
    connection.room = room;
    socket.removeListener('data', reserve);
    socket.removeListener('data', count);
  }
}

/** Not `unavailable`, because a query for fewer rows can succeed. */
const overBudget = () =>
  new DataFailure('failed', 'The results of queries use too much memory at the moment. Read fewer rows, or try again.');

/**
 * Begins a transaction with every setting that could change a statement's meaning or waiting time: one text, one round trip, and `local`,
 * so that a pooler does not apply them to other transactions.
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
  /** There are more rows than `maxRows`. */
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
 * One statement by the extended protocol: a second statement in the text is an error, and the server stops after `maxRows` + 1 rows.
 * Only rows are returned; data of COPY is dropped.
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
  receivedRows(): RawResult {
    return { columns: this.#columns, rows: this.#rows.slice(0, this.#maxRows), more: true };
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    wire.stream.cork?.();
    wire.parse({ text: this.#text });
    wire.bind({ values: this.#values });
    wire.describe({ type: 'P', name: '' });
    // One more row shows whether there are more.
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
    // All requested rows have come; their number shows whether there are more.
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
    // ReadyForQuery follows; only then is the connection free again.
  }

  handleEmptyQuery(): void {
    // ReadyForQuery follows; an empty text has no rows.
  }

  handleCopyData(): void {
    // Data of COPY is dropped.
  }
}
