import type { Duplex } from 'node:stream';
import pg, { type ClientConfig, type PoolClient } from 'pg';
import { DataFailure, malformed } from '../failure.ts';
import { createMessageReader } from './message-reader.ts';

/** Bytes that a server may send until it has accepted the login. */
const connectBytes = 32 * 1024;
/** Counted for each chunk and each message in addition to its bytes: the least memory and time that it takes here. */
const overheadBytes = 100;
/** A server that does not close its side of a connection after this time is left. */
const closeLimitMs = 2_000;

type Listener = (chunk: Buffer) => void;

/** The driver's connection with the method that its types leave out. It attaches the driver's parser to a socket, and to that of TLS. */
const DriverConnection = pg.Connection as unknown as new (
  config: ClientConfig,
) => pg.Connection & { attachListeners(stream: Pick<Duplex, 'on'>): void };

/**
 * A connection whose server is not trusted. The driver parses in a listener of the socket, where an error would end the process: here it
 * ends the connection, and so does a server that sends more bytes than it may.
 */
class GuardedConnection extends DriverConnection {
  /** How many bytes the server may still send. Infinite while a statement runs that counts them itself. */
  room = connectBytes;

  constructor(config: ClientConfig) {
    super(config);
    // The driver leaves a connection open when the server refused it.
    const close = () => void this.stream.destroy();
    this.on('error', close).on('errorMessage', close);
    this.once('readyForQuery', () => this.off('error', close).off('errorMessage', close));
  }

  override attachListeners(stream: Duplex): void {
    const on = (event: string, listener: Listener) => stream.on(event, event === 'data' ? this.#guarded(stream, listener) : listener);
    super.attachListeners({ on: on as Duplex['on'] });
  }

  #guarded(stream: Duplex, parse: Listener): Listener {
    const read = createMessageReader((message) => {
      this.#take(0);
      parse(message);
    });
    return (chunk) => {
      try {
        this.#take(chunk.length);
        read(chunk);
      } catch (cause) {
        stream.destroy(cause instanceof DataFailure ? cause : malformed(cause));
      }
    };
  }

  #take(bytes: number): void {
    this.room -= bytes + overheadBytes;
    if (this.room < 0) throw tooMuch();
  }

  override end(): void {
    super.end();
    const timer = setTimeout(() => this.stream.destroy(), closeLimitMs).unref();
    this.once('end', () => clearTimeout(timer));
  }
}

const tooMuch = () =>
  new DataFailure(
    'unavailable',
    'The data source sent too much that is no result of a query, such as the description of its tables. An account that may read fewer tables gets less.',
  );

/**
 * An explicit empty password: without one the driver would send the server the service's PGPASSWORD or the password of its
 * `~/.pgpass`.
 */
const noPassword = () => '';

/**
 * The types of our own statements' results, by their numbers in pg_catalog. The driver takes the parser of the number that the server sends, and
 * its parsers of dates and arrays take time that grows with the square of a value: here all other types stay text.
 */
const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'],
  [23, Number],
  [114, (text) => JSON.parse(text)],
]);
const types = { getTypeParser: (typeId: number) => parsers.get(typeId) ?? String };

/** The client for every connection to the database of an organization. */
export class GuardedClient extends pg.Client {
  constructor(config: ClientConfig = {}) {
    // A copy of the pool's settings lacks the password, which it hides.
    super({ ...config, types, password: config.password || noPassword, connection: new GuardedConnection(config) } as ClientConfig);
  }
}

/** A client of the pool. */
export const connectionOf = (client: PoolClient): GuardedConnection => client.connection as GuardedConnection;
