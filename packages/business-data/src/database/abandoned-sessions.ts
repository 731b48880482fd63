import { createSemaphore, sleep } from '@agent-service/work';
import pg, { type PoolClient, type PoolConfig } from 'pg';

/** A session of the database, whose process number may be used again by a later one. */
export interface Session {
  readonly pid: number;
  readonly startedAt: string;
}

/** Sessions whose connection was cut while the database ran a statement of theirs. */
export interface AbandonedSessions {
  /** Resolves when the session has ended or `longestMs` have passed. Never rejects. */
  untilEnded(session: Session, options: EndOptions): Promise<void>;
  close(): void;
}

export interface EndOptions {
  readonly driver: PoolConfig;
  /** Ends the session as soon as the database can. */
  readonly terminate: boolean;
}

/** Some statements cannot be interrupted; this long the session counts among those that the database runs for us. */
const longestMs = 600_000;
/** A database that cannot be asked for this long, or a login that no longer exists, runs nothing of ours. */
const longestSilenceMs = 30_000;
const pauses = { firstMs: 50, longestMs: 2_000 };

const startedAt = `pg_catalog.to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS.US')`;

/** Behind a pooler the connection's process number is not the session's, which others use too: undefined. */
export async function sessionOf(client: PoolClient): Promise<Session | undefined> {
  const { rows } = await client.query<{ pid: number; started_at: string | null }>(
    `select pid, ${startedAt} as started_at from pg_catalog.pg_stat_activity where pid operator(pg_catalog.=) pg_catalog.pg_backend_pid()`,
  );
  const [row] = rows;
  const pid = (client as unknown as { processID?: number | null }).processID;
  return row?.started_at && row.pid === pid ? { pid: row.pid, startedAt: row.started_at } : undefined;
}

export function createAbandonedSessions(): AbandonedSessions {
  const closing = new AbortController();
  // At most one connection more than was asked for.
  const semaphore = createSemaphore(1);

  async function isOver(session: Session, { driver, terminate }: EndOptions): Promise<boolean> {
    const release = await semaphore.acquire({ signal: closing.signal });
    const client = new pg.Client({ ...driver, statement_timeout: 2_000, query_timeout: 3_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query(
        `select ${terminate ? 'pg_catalog.pg_terminate_backend(pid)' : ''} from pg_catalog.pg_stat_activity
          where pid operator(pg_catalog.=) $1::pg_catalog.int4 and ${startedAt} operator(pg_catalog.=) $2::pg_catalog.text`,
        [session.pid, session.startedAt],
      );
      return rows.length === 0;
    } finally {
      release();
      await client.end().catch(() => undefined);
    }
  }

  return {
    async untilEnded(session, options) {
      const begin = performance.now();
      let answeredAt = begin;
      for (let pauseMs = pauses.firstMs; !closing.signal.aborted; pauseMs = Math.min(2 * pauseMs, pauses.longestMs)) {
        try {
          if (await isOver(session, options)) return;
          answeredAt = performance.now();
        } catch {
          if (performance.now() - answeredAt > longestSilenceMs) return;
        }
        if (performance.now() - begin > longestMs) return;
        await sleep(pauseMs, closing.signal);
      }
    },
    close: () => closing.abort(),
  };
}
