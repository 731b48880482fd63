import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimit {
  readonly perAddress: number;
  /** What a peer's address is counted by; undefined where it is not limited, as a proxy before us. */
  readonly countedBy: (peer: string) => string | undefined;
  readonly onRefused: () => void;
}

/** Ends connections of an address that has too many open: each holds memory and a file descriptor before it has sent a byte. */
export function limitConnections(server: Server, { perAddress, countedBy, onRefused }: ConnectionLimit): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = countedBy(socket.remoteAddress ?? '');
    if (address === undefined) return;
    const count = open.get(address) ?? 0;
    if (count >= perAddress) {
      onRefused();
      socket.destroy();
      return;
    }
    open.set(address, count + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}
