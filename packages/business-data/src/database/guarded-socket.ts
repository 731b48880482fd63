import { isIP, Socket } from 'node:net';
import { createResolve, guardedLookup, type IpNetwork, isReachable } from '@agent-service/outbound';
import { DataFailure } from '../failure.ts';

/** Throws where a host is no address that may be connected to. The addresses of a name are checked when it connects. */
export function requireReachable(host: string, allowed: readonly IpNetwork[]): void {
  if (host === '' || host.startsWith('/')) throw new DataFailure('refused', 'The data source must be on a host with a name or an address.');
  if (isIP(host) !== 0 && !isReachable(host, allowed)) throw unreachable();
}

export const unreachable = (cause?: unknown): DataFailure =>
  new DataFailure(
    'refused',
    'The host of the data source resolves to a private or reserved address. An operator of the service can allow its network with DATA_SOURCE_ALLOWED_NETWORKS.',
    cause,
  );

/** A factory of sockets that connect to reachable addresses only: each connection resolves and checks its name again. */
export function guardedSockets(allowed: readonly IpNetwork[]): () => Socket {
  const lookup = guardedLookup(allowed, createResolve({ local: allowed.length > 0 }));
  return () => {
    const socket = new Socket();
    const connect = socket.connect.bind(socket);
    // The driver knows no option for a look-up: it calls `connect(port, host)`.
    return Object.assign(socket, { connect: (port: number, host: string) => connect({ port, host, lookup }) });
  };
}
