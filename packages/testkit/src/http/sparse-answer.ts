import { createServer, type Socket } from 'node:net';
import { garbageCollector } from '@agent-service/runtime/idle-memory';

interface SparseAnswer {
  readonly url: string;
  /** The memory that buffers took when every byte was sent and the response had not ended. */
  readonly heldBytes: Promise<number>;
  stop(): void;
}

const readBytes = 64 * 1024;
/** The client reads what is in the buffers of sockets in this time. */
const settleMs = 200;

/** Answers one HTTP request with this body, of which each byte is a chunk that fills a read of the client's socket. */
export async function sparseAnswer(body: string): Promise<SparseAnswer> {
  const collectGarbage = garbageCollector();
  const measured = Promise.withResolvers<number>();
  const sockets = new Set<Socket>();
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;

  function measure(socket: Socket): void {
    collectGarbage();
    measured.resolve(process.memoryUsage().arrayBuffers - before);
    socket.end('0\r\n\r\n');
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const chunks = [...body].map((byte) => `1;${'a'.repeat(readBytes)}\r\n${byte}\r\n`);
      socket.write(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}`,
        () => void setTimeout(measure, settleMs, socket),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    heldBytes: measured.promise,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
