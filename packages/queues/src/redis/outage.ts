import type { ProcessContext } from '@agent-service/runtime';
import type { RedisClient } from './clients.ts';

const words =
  /Connection is closed|Command timed out|max retries per request|Failed to refresh slots|None of startup nodes|CLUSTERDOWN|LOADING|READONLY|UNBLOCKED|Too many Cluster redirections|isn't ready|Stream isn't writeable/i;

/** True for errors that say only that Redis is away for now. */
export function isOutage(cause: Error): boolean {
  return 'syscall' in cause || words.test(cause.message);
}

/** Logs one line when Redis goes away and one when it is back, however often the client reconnects in between. */
export function reportOutages<Client extends RedisClient>({ logger }: ProcessContext, purpose: string, client: Client): Client {
  let away = false;
  client.on('error', (cause: Error) => {
    if (!away) logger.warn({ event: 'redis_away', purpose, err: cause });
    away = true;
  });
  client.on('ready', () => {
    if (away) logger.info({ event: 'redis_back', purpose });
    away = false;
  });
  return client;
}
