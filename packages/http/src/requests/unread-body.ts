import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** Node reads a short rest of a refused body by itself, and the connection stays. */
const shortBodyBytes = 64 * 1024;
const timedOut = 408;
/** How long a refused caller may take to read the reply: a close while it still sends would discard the reply. */
const lingerMs = 2_000;
/** Bytes that are discarded in that time; a client that sends more has to wait. */
const maxDiscardedBytes = 8 * 1024 * 1024;

/** True if too much of the body is still to come, or it came too slowly. */
export function hasUnreadBody({ headers, complete }: IncomingMessage, status: number): boolean {
  if (complete) return false;
  return status === timedOut || headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > shortBodyBytes;
}

/** Discards the rest of a body, so that its sender can read the reply. Calls back at its end, or after a time limit. */
export function discardRest(source: Readable, done: () => void): void {
  let discarded = 0;
  const onData = (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > maxDiscardedBytes) source.pause();
  };
  const finish = () => {
    clearTimeout(timer);
    source.off('data', onData).off('end', finish).off('close', finish);
    done();
  };
  const timer = setTimeout(finish, lingerMs).unref();
  // Its sender may be gone already.
  source.on('error', () => undefined);
  source.on('data', onData).on('end', finish).on('close', finish).resume();
}
