import { withTimeout } from '@agent-service/runtime';
import type { PoolClient } from 'pg';
import { translateFailure } from './database-message.ts';
import { cancelled, DataFailure } from './failure.ts';
import type { Lending } from './limits.ts';

/** The database answers a cancelled or timed-out statement within this time; else its connection is cut. */
const graceMs = 1_000;

export interface Guard {
  readonly broken: Promise<never>;
  readonly reason: DataFailure | undefined;
  /** Stops guarding; whether the connection is still whole. */
  end(): boolean;
}

/** Cuts the connection when the caller leaves, or when the database does not keep to the time that it was given. */
export function createGuard(client: PoolClient, { timeoutMs, signal }: Lending): Guard {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  let reason: DataFailure | undefined;
  const cut = (failure: DataFailure) => {
    reason ??= failure;
    socketOf(client).destroy();
    reject(failure);
  };
  const onAbort = () => cut(cancelled(signal?.reason));
  const onError = (cause: unknown) => reject(translateFailure(cause));
  const timer = setTimeout(() => cut(silent()), timeoutMs + graceMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  client.on('error', onError);
  return {
    broken,
    get reason() {
      return reason;
    },
    end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      client.removeListener('error', onError);
      return reason === undefined && !socketOf(client).destroyed;
    },
  };
}

/** A server that is there ends a statement in time, and says so itself. */
const silent = () => new DataFailure('unavailable', 'The data source did not answer in time.');

export interface Socket {
  readonly destroyed: boolean;
  destroy(): void;
  on(event: 'data', listener: (chunk: Buffer) => void): void;
  removeListener(event: 'data', listener: (chunk: Buffer) => void): void;
}

/** The types of the driver leave its socket out. */
export const socketOf = (client: PoolClient): Socket => (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** Whether a connection whose work failed is out of it, and can be lent again. */
export async function isIdle(client: PoolClient): Promise<boolean> {
  try {
    await withTimeout(client.query('rollback'), graceMs, silent);
    return true;
  } catch {
    // The connection is lost or silent, and its transaction with it: whoever asked gets the first failure, not this one.
    return false;
  }
}
