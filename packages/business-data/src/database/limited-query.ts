import type { Connection, Submittable } from 'pg';

export interface RawColumn {
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
export class LimitedQuery implements Submittable {
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
