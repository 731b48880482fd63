import type { ProcessContext } from '@agent-service/runtime';
import type { RedisClient } from './clients.ts';

const words =
  /Connection is closed|Command timed out|max retries per request|Failed to refresh slots|None of startup nodes|CLUSTERDOWN|LOADING|READONLY|UNBLOCKED|Too many Cluster redirections|isn't ready|Stream isn't writeable/i;

/** Whether this says only that Redis is away, which passes. */
export function isOutage(cause: Error): boolean {
  return 'syscall' in cause || words.test(cause.message);
}

/** One line when Redis goes and one when it comes, however often the connection is tried in between. */
export function reported<Client extends RedisClient>({ logger }: ProcessContext, purpose: string, client: Client): Client {
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
