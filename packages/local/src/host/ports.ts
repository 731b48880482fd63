import { randomInt } from 'node:crypto';
import { createServer, isIPv6 } from 'node:net';
import { errorCode } from './files.ts';

/** Below the range of ephemeral ports, so that a restarted process finds its port still free. */
const firstPort = 20_000;
const lastPort = 29_999;
/**
 * Each process starts its search at another port. A free port is used only seconds later, and two processes that search at the same time
 * would often choose the same.
 */
const portsPerProcess = 100;
const reserved = new Set<number>();

/** Excludes a port from `freePort`. */
export function reservePort(port: number): void {
  reserved.add(port);
}

/** A free port of 127.0.0.1, never the same twice in this process. */
export async function freePort(): Promise<number> {
  const count = lastPort - firstPort + 1;
  const start = (process.pid * portsPerProcess + randomInt(portsPerProcess / 2)) % count;
  for (let step = 0; step < count; step++) {
    const port = firstPort + ((start + step) % count);
    if (reserved.has(port)) continue;
    reserved.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found between ${firstPort} and ${lastPort}`);
}

/** The host of a URL by which this machine reaches a server that listens on the address. */
export function hostInUrl(address: string): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1';
  return isIPv6(address) ? `[${address}]` : address;
}

/** True if a server can listen on the port now. */
export async function isFree(port: number): Promise<boolean> {
  return (await listenFault(port, '127.0.0.1')) === undefined;
}

/** The code of the error with which a server could not listen there now, such as EADDRINUSE; undefined if it could. */
export function listenFault(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (cause) => resolve(errorCode(cause) ?? cause.message));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}
