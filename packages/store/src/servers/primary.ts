import { ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { reasonOf } from '@agent-service/runtime/failures';
import { retry } from '@agent-service/work';
import { Client } from 'pg';
import { translateFailure } from '../sql.ts';
import { serverUrls } from './database-url.ts';

const probeLimitMs = 2_000;
const waitPauseMs = 1_000;

/** `in_hot_standby` and `default_transaction_read_only` are reported by every server from PostgreSQL 14 on, before its first answer. */
const readOnlyParameters = new Set(['in_hot_standby', 'default_transaction_read_only']);

/** The client reached a server that accepts no writes. It looks like a server that is starting, so that callers try again. */
class StandbyError extends Error {
  readonly code = '57P03';
}

/**
 * Resolves when a server of the URL accepts connections. A process that ended instead would be started again after pauses that grow, on Kubernetes to five
 * minutes, so that it came back long after its database. Rejects where waiting does not help, as with a wrong password.
 */
export async function waitForDatabase({ logger }: Pick<ProcessContext, 'logger'>, url: string): Promise<void> {
  let logged = '';
  const urls = serverUrls(url);
  await retry<unknown>(() => (urls.length === 1 ? acceptsWrites(urls[0] as string) : findPrimary(urls)), {
    pauseAfter: (_failures, cause) => (isAway(cause) ? waitPauseMs : undefined),
    onRetry(_failures, cause) {
      if (logged === reasonOf(cause)) return;
      logged = reasonOf(cause);
      logger.warn({ event: 'waiting_for_database', err: cause });
    },
  });
}

/** A wrong password is temporary for a process that runs, because it may have been replaced, and a wrong setting for one that starts. */
const isAway = (cause: unknown): boolean =>
  (cause as { code?: string }).code !== '28P01' && translateFailure(cause) instanceof ServiceError;

/** The URL of the one server that accepts writes. A URL with one server is that server's, even if the server accepts no writes. */
export async function primaryUrl(url: string): Promise<string> {
  const urls = serverUrls(url);
  return urls.length === 1 ? (urls[0] as string) : await findPrimary(urls);
}

/**
 * The class of a pool's clients. With several servers or passwords each client first looks for the server that accepts writes, so that a failover
 * and a new password fail no connection.
 */
export function clientOfPrimary(url: string): typeof Client {
  const urls = serverUrls(url);
  if (urls.length === 1) return Client;
  let search: Promise<string> | undefined;
  const find = () => {
    search ??= findPrimary(urls).finally(() => {
      search = undefined;
    });
    return search;
  };

  return class PrimaryClient extends Client {
    // biome-ignore lint/suspicious/noExplicitAny: the pool passes a callback, and the library declares both forms.
    override connect(callback?: any): any {
      if (callback === undefined)
        return new Promise<void>((resolve, reject) => this.connect((cause?: Error) => (cause ? reject(cause) : resolve())));
      find().then((server) => {
        const { host, hostname, port, username, password } = new URL(server);
        const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
        Object.assign(this, { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 5432), user, password: secret });
        Object.assign(parametersOf(this), { user, password: secret });
        const isStandby = watchStandby(this);
        super.connect((cause: Error | null) => {
          if (cause || !isStandby()) return callback(cause);
          this.end(() => callback(new StandbyError(`the server ${host} accepts no writes`)));
        });
      }, callback);
    }
  };
}

/** The start-up message takes the role from here. */
const parametersOf = (client: Client) => (client as unknown as { connectionParameters: object }).connectionParameters;

/** Resolves to the first server that accepts writes; rejects with the reason of one if there is none. */
async function findPrimary(urls: readonly string[]): Promise<string> {
  try {
    return await Promise.any(urls.map(probe));
  } catch (cause) {
    throw cause instanceof AggregateError ? (cause.errors.find((each) => !(each instanceof StandbyError)) ?? cause.errors[0]) : cause;
  }
}

async function probe(url: string): Promise<string> {
  if (await acceptsWrites(url)) return url;
  throw new StandbyError(`the server ${new URL(url).host} accepts no writes`);
}

/** Connects, and resolves to what the server says of itself. */
async function acceptsWrites(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: probeLimitMs, application_name: 'agent-service probe' });
  client.on('error', () => undefined);
  const isStandby = watchStandby(client);
  try {
    await client.connect();
    return !isStandby();
  } finally {
    client.end().catch(() => undefined);
  }
}

/** Reads what the server says of itself while the client connects. */
function watchStandby(client: Client): () => boolean {
  let isReadOnly = false;
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
  connection.on('parameterStatus', ({ parameterName: name, parameterValue: value }: Record<'parameterName' | 'parameterValue', string>) => {
    if (readOnlyParameters.has(name)) isReadOnly ||= value === 'on';
  });
  return () => isReadOnly;
}
