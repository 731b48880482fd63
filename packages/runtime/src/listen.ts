import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** The open connections of each server, with the times at which they began. */
const connections = new WeakMap<Server, Map<Socket, number>>();

/** Starts listening and returns the port; port 0 takes a free one. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  const open = new Map<Socket, number>();
  connections.set(server, open);
  server.on('connection', (socket: Socket) => {
    open.set(socket, performance.now());
    socket.once('close', () => open.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

const closeEveryMs = 100;
/** The first request of a connection that has just begun may be on its way. */
const firstRequestMs = 1_000;

/** Takes no more connections, waits until running requests are answered and the answers are sent, and closes connections without any. */
export function closeServer(server: Server): Promise<void> {
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeUnused = () => {
    const open = [...(connections.get(server) ?? [])];
    // Node counts a connection as idle once its answer is written, and would drop the part that the client has not read yet.
    if (open.every(([{ writableLength }]) => writableLength === 0)) closeIdle();
    const oldest = performance.now() - firstRequestMs;
    // A connection that has sent nothing yet counts as busy.
    for (const [socket, beganAt] of open) if (socket.bytesRead === 0 && beganAt <= oldest) socket.destroy();
  };
  // Node's own `close` calls it as well.
  server.closeIdleConnections = closeUnused;
  // Repeated, because a connection becomes idle when its answer ends.
  const timer = setInterval(closeUnused, closeEveryMs);
  return new Promise((resolve, reject) => {
    server.close((error) => {
      clearInterval(timer);
      if (error) reject(error);
      else resolve();
    });
  });
}
