import { randomInt } from 'node:crypto';
import { createServer, isIPv6 } from 'node:net';

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
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
