import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the range from which systems hand out ports, so that a process that is started again finds its port still free. */
const firstPort = 20_000;
const lastPort = 29_999;
/**
 * Each process begins to look at another place. A port is listened on only seconds after it was found free, and two processes that look
 * for dozens of them at the same time would often enough find the same.
 */
const placeSize = 100;
const given = new Set<number>();

/** Keeps a port that something else is meant for from being given away here. */
export function reservePort(port: number): void {
  given.add(port);
}

/** A free port of 127.0.0.1, never the same twice in this process. */
export async function freePort(): Promise<number> {
  const count = lastPort - firstPort + 1;
  const start = (process.pid * placeSize + randomInt(placeSize / 2)) % count;
  for (let step = 0; step < count; step++) {
    const port = firstPort + ((start + step) % count);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found between ${firstPort} and ${lastPort}`);
}

/** Whether a server could listen on the port now. */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
