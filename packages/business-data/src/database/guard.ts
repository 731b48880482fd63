import type { Duplex } from 'node:stream';
import { withTimeout } from '@agent-service/work';
import type { PoolClient } from 'pg';
import { cancelled, DataFailure } from '../failure.ts';
import { translateFailure } from './database-message.ts';
import { connectionOf } from './guarded-client.ts';

/** The database ends a timed-out statement within this time; otherwise its connection is cut. */
const graceMs = 1_000;

/** Limits of one use of a connection. */
export interface ConnectionLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The session may be terminated when its connection is cut. A session that changes data may be committing, so it is not terminated. */
  readonly isReadOnly?: boolean;
  /** Bytes that the database may send in this use, without the results of statements that have a limit of their own. 2 MB by default. */
  readonly maxReceivedBytes?: number;
}

const defaultReceivedBytes = 2 * 1024 * 1024;

interface Guard {
  /** Rejects when the connection fails or is cut. */
  readonly failure: Promise<never>;
  readonly reason: DataFailure | undefined;
  /** Stops guarding. Returns false when the connection was cut. */
  end(): boolean;
}

/** Cuts the connection when the caller cancels, or when the database exceeds the limit of time or of bytes. */
export function createGuard(client: PoolClient, { timeoutMs, signal, maxReceivedBytes }: ConnectionLimits): Guard {
  connectionOf(client).room = maxReceivedBytes ?? defaultReceivedBytes;
  const { promise: failure, reject } = Promise.withResolvers<never>();
  failure.catch(() => undefined);
  let reason: DataFailure | undefined;
  const cut = (cause: DataFailure) => {
    reason ??= cause;
    socketOf(client).destroy();
    reject(cause);
  };
  const onAbort = () => cut(cancelled(signal?.reason));
  const onError = (cause: unknown) => reject(translateFailure(cause));
  const timer = setTimeout(() => cut(noAnswer()), timeoutMs + graceMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  client.on('error', onError);
  return {
    failure,
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

/** A server that can be reached ends a statement in time and reports that itself. */
const noAnswer = () => new DataFailure('unavailable', 'The data source did not answer in time.');

export const socketOf = (client: PoolClient): Duplex => connectionOf(client).stream;

/** Resets all state of a session. `discard all` does the same, but a pooler would run it on another connection. */
const resetText = `close all; set session authorization default; reset role; reset all; deallocate all; unlisten *;
  select pg_catalog.pg_advisory_unlock_all(); discard plans; discard temp; discard sequences`;

/**
 * Ends what is left of a transaction and resets the session in one round trip: settings, locks, temporary objects, prepared statements,
 * cursors, subscriptions. Returns false where that fails or takes too long; the connection must then be closed.
 */
export async function resetSession(client: PoolClient, settings: readonly string[]): Promise<boolean> {
  try {
    const isOutside = client.getTransactionStatus() === 'I';
    await withTimeout(client.query([...(isOutside ? [] : ['rollback']), resetText, ...settings].join('; ')), graceMs, noAnswer);
    return true;
  } catch {
    // The connection is lost or does not answer: the caller gets its result or its first failure, not this one.
    return false;
  }
}
