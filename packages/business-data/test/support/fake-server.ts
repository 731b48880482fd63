import { createServer, type Socket } from 'node:net';
import { TLSSocket, type TLSSocketOptions } from 'node:tls';
import { testCertificate } from '@agent-service/testkit';

/** A message of PostgreSQL's protocol; `length` as it is written, where it is not that of the body. */
export function message(code: string, body: Buffer | string = '', length?: number): Buffer {
  const content = Buffer.from(body as string, 'latin1');
  const head = Buffer.alloc(5, code);
  head.writeUInt32BE(length ?? content.length + 4, 1);
  return Buffer.concat([head, content]);
}

export const int16 = (value: number): Buffer => Buffer.from(new Uint8Array([(value >> 8) & 255, value & 255]));

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const ready = message('Z', 'I');
export const accepted = Buffer.concat([message('R', int32(0)), ready]);

const textType = 25;
/** The columns of a result, as texts or as values of another type. */
export const columnsOf = (names: readonly string[], type = textType): Buffer =>
  message(
    'T',
    Buffer.concat([
      int16(names.length),
      ...names.map((name) => Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)])),
    ]),
  );

export const rowOf = (values: readonly string[]): Buffer =>
  message(
    'D',
    Buffer.concat([int16(values.length), ...values.map((value) => Buffer.concat([int32(Buffer.byteLength(value)), Buffer.from(value)]))]),
  );

export const complete = Buffer.concat([message('C', 'SELECT 1\0'), ready]);

/** The bytes of an answer, or its chunks, which are sent until the connection is closed. */
type Reply = Buffer | Iterable<Buffer>;

export interface FakeServerScript {
  /** Sent for the start-up message; by default the login is accepted. */
  readonly startup?: Reply;
  /** Sent for messages with this text, as those of statements. All others have no rows. */
  readonly statement?: { readonly text: RegExp; readonly reply: Reply | ((text: string) => Reply) };
  /** Speaks TLS, where they are given with these settings. */
  readonly tls?: boolean | TLSSocketOptions;
  /** Asks for another handshake after the login. */
  readonly negotiatesAgain?: boolean;
  /** By default as the server speaks. */
  readonly sslmode?: string;
  /** Leaves its side of a connection open when the client closes its own. */
  readonly staysOpen?: boolean;
}

export interface FakeServer {
  readonly url: string;
  readonly sentBytes: number;
  readonly openConnections: number;
  close(): void;
}

/** Speaks as much of PostgreSQL's protocol as a client needs to connect and to send statements. */
export async function fakeServer({
  startup = accepted,
  statement,
  tls = false,
  sslmode,
  staysOpen = false,
  negotiatesAgain = false,
}: FakeServerScript): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const settings = tls === true ? testCertificate() : tls && { ...testCertificate({ keyType: 'rsa' }), ...tls };
  let sentBytes = 0;

  function send(socket: Socket, reply: Reply): void {
    const chunks = (Buffer.isBuffer(reply) ? [reply] : (reply as Iterable<Buffer>))[Symbol.iterator]();
    const next = () => {
      for (let chunk = chunks.next(); !chunk.done && !socket.destroyed; chunk = chunks.next()) {
        sentBytes += chunk.value.length;
        if (!socket.write(chunk.value)) return void socket.once('drain', next);
      }
    };
    next();
  }

  function serve(socket: Socket): void {
    let isStarted = false;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      if (isStarted && negotiatesAgain && socket instanceof TLSSocket) socket.renegotiate({}, (error) => error ?? send(socket, complete));
      else if (isStarted) send(socket, replyTo(bytes.toString('latin1'), statement));
      else send(socket, startup);
      isStarted = true;
    });
  }

  const server = createServer({ allowHalfOpen: staysOpen }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    if (staysOpen) socket.on('end', () => sendUntilClosed(socket));
    if (settings) socket.once('data', () => serve(withTls(socket, settings)));
    else serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `postgres://reader:secret@127.0.0.1:${port}/erp?sslmode=${sslmode ?? (tls ? 'require' : 'disable')}`,
    get sentBytes() {
      return sentBytes;
    },
    get openConnections() {
      return sockets.size;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Only a client that still has its socket takes what is sent after it has closed its side. */
function sendUntilClosed(socket: Socket): void {
  const timer = setInterval(() => socket.write(message('N', 'Mstill here\0\0')), 50);
  socket.on('close', () => clearInterval(timer));
}

function withTls(socket: Socket, settings: TLSSocketOptions): TLSSocket {
  socket.write('S');
  return new TLSSocket(socket, { isServer: true, ...settings });
}

/** One chunk has one statement, since the client waits for each answer. */
function replyTo(bytes: string, statement: FakeServerScript['statement']): Reply {
  if (statement?.text.test(bytes)) return typeof statement.reply === 'function' ? statement.reply(bytes) : statement.reply;
  const isExtended = bytes.startsWith('P');
  return isExtended ? Buffer.concat([message('1'), message('2'), message('n'), complete]) : complete;
}
