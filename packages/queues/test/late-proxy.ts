import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '@agent-service/testkit';

/** A proxy in front of the first of these servers; it refuses connections until it is opened. */
export async function lateProxy(url: string): Promise<{ readonly url: string; open(): Promise<void>; freeze(): void; close(): void }> {
  const target = new URL(url.split(',')[0] ?? '');
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    near.pipe(far).pipe(near);
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    async open() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    /** Stops forwarding on all present connections without closing them. */
    freeze() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
