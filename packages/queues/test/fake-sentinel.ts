import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A sentinel whose answers a test can hold back, and which announces a failover on demand. */
export interface FakeSentinel {
  readonly url: string;
  /** Names this server as the primary from now on. */
  promote(host: string, port: number): void;
  /** Holds back the primary's address until the returned function is called. */
  holdAnswers(): () => void;
  /** Requests for the primary's address that wait for an answer. */
  readonly waiting: number;
  /** Connections that are subscribed to failovers. */
  readonly listening: number;
  announceFailover(): void;
  close(): void;
}

const channel = '+switch-master';
const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

export async function fakeSentinel(primaryPort: number): Promise<FakeSentinel> {
  const listeners = new Set<Socket>();
  const sockets = new Set<Socket>();
  let heldReplies: (() => void)[] | undefined;
  let primary = { host: '127.0.0.1', port: primaryPort };

  function answer(socket: Socket, words: readonly string[]): void {
    const [command = '', argument = ''] = words.map((word) => word.toLowerCase());
    if (command === 'hello') socket.write("-ERR unknown command 'HELLO'\r\n");
    else if (command === 'subscribe') {
      listeners.add(socket);
      socket.write(`*3\r\n${bulk('subscribe')}${bulk(channel)}:1\r\n`);
    } else if (argument === 'get-master-addr-by-name') {
      const reply = () => socket.write(`*2\r\n${bulk(primary.host)}${bulk(String(primary.port))}`);
      if (heldReplies) heldReplies.push(reply);
      else reply();
    } else socket.write(command === 'sentinel' ? '*0\r\n' : '+OK\r\n');
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => listeners.delete(socket));
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      for (let command = nextCommand(received); command; command = nextCommand(received)) {
        received = received.slice(command.length);
        answer(socket, command.words);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    promote(host, port) {
      primary = { host, port };
    },
    holdAnswers() {
      const waiting: (() => void)[] = [];
      heldReplies = waiting;
      return () => {
        heldReplies = undefined;
        for (const reply of waiting) reply();
      };
    },
    get waiting() {
      return heldReplies?.length ?? 0;
    },
    get listening() {
      return listeners.size;
    },
    announceFailover() {
      for (const socket of listeners) socket.write(`*3\r\n${bulk('message')}${bulk(channel)}${bulk('main 127.0.0.1 1 127.0.0.1 2')}`);
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Parses the first command of the text: `*2`, then a length and a word for each. */
function nextCommand(text: string): { words: string[]; length: number } | undefined {
  const count = Number(/^\*(\d+)\r\n/.exec(text)?.[1] ?? 0);
  if (count === 0) return undefined;
  const lines = text.split('\r\n');
  if (lines.length < 2 * count + 2) return undefined;
  const words = Array.from({ length: count }, (_, index) => lines[2 + 2 * index] ?? '');
  return { words, length: lines.slice(0, 2 * count + 1).reduce((sum, line) => sum + line.length + 2, 0) };
}
