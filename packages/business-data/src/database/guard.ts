import { withTimeout } from '@agent-service/work';
import type { PoolClient } from 'pg';
import { cancelled, DataFailure } from '../failure.ts';
import { translateFailure } from './database-message.ts';

/** The database answers a cancelled or timed-out statement within this time; else its connection is cut. */
const graceMs = 1_000;

/** Limits of one use of a connection. */
export interface ConnectionLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The session may be ended when its connection is cut. A change may be committing then, and is left to the database. */
  readonly isReadOnly?: boolean;
}

interface Guard {
  readonly broken: Promise<never>;
  readonly reason: DataFailure | undefined;
  /** Stops guarding; whether the connection is still whole. */
  end(): boolean;
}

/** Cuts the connection when the caller leaves, or when the database does not keep to the time that it was given. */
export function createGuard(client: PoolClient, { timeoutMs, signal }: ConnectionLimits): Guard {
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

/** Leaves nothing of a session to the next statement, as `discard all` does, which a pooler would run on another connection. */
const resetText = [
  'close all',
  'set session authorization default',
  'reset role',
  'reset all',
  'deallocate all',
  'unlisten *',
  'select pg_catalog.pg_advisory_unlock_all()',
  'discard plans',
  'discard temp',
  'discard sequences',
].join('; ');

/**
 * Ends what is left of a transaction and resets the session in one round trip: settings, locks, temporary objects, prepared statements,
 * cursors, subscriptions. False where that fails or takes too long; the connection must then be closed.
 */
export async function resetSession(client: PoolClient, settings: readonly string[]): Promise<boolean> {
  try {
    const isOutside = client.getTransactionStatus() === 'I';
    await withTimeout(client.query([...(isOutside ? [] : ['rollback']), resetText, ...settings].join('; ')), graceMs, silent);
    return true;
  } catch {
    // The connection is lost or silent: the caller gets its result or its first failure, not this one.
    return false;
  }
}
