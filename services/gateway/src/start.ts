import { openClient, openWebhooksClient } from '@agent-service/contracts';
import { createApp } from '@agent-service/http/app';
import { createFailedAuthentications } from '@agent-service/http/limits/failed-authentications';
import type { Limiter } from '@agent-service/http/limits/limits';
import { createLocalLimiter } from '@agent-service/http/limits/local-limiter';
import { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { createCors } from '@agent-service/http/replies/cors';
import { createObserver, createResponder } from '@agent-service/http/replies/responder';
import { clientAddress, countedAddress } from '@agent-service/http/requests/client-address';
import { createHttpServer, limitConnections } from '@agent-service/http/server';
import { openRedis, type RedisConnections } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { closeServer, listen } from '@agent-service/runtime/listen';
import { openAnswers } from './answers/open-answers.ts';
import { askIdentity, createAuthenticator } from './auth/authenticator.ts';
import { publishedKeys } from './auth/published-keys.ts';
import type { GatewayConfig } from './config.ts';
import { createFallbackLimiter } from './limits/fallback-limiter.ts';
import { createLimiterRedis, createRedisLimiter } from './limits/redis-limiter.ts';
import { callerLimits, createRules } from './limits/rules.ts';
import { docs, livez, openapi, readyz } from './openapi/pages.ts';
import { everyRoute, routes } from './routes/index.ts';
import { createPipeline } from './routing/pipeline.ts';

const authenticateTimeoutMs = 1_000;
/** Time beyond the drain in which the requests whose wait was ended get their responses. */
const drainGraceMs = 1_000;

interface GatewayTiming {
  /** How long Redis may take for a command and for a count, in place of the usual limits. */
  readonly redisLimitMs?: number;
}

/** Composes the service; resolves to its HTTP port. */
export async function start(process: ProcessContext, config: GatewayConfig, { redisLimitMs }: GatewayTiming = {}): Promise<number> {
  const identity = openClient(process, 'identity', { address: config.IDENTITY_ADDRESS, as: 'gateway', config, followsClock: true });
  process.health.addCheck('identity', () => identity.checkHealth());
  const credits = openClient(process, 'credits', { address: config.CREDITS_ADDRESS, as: 'gateway', config });
  process.health.addCheck('credits', () => credits.checkHealth());
  const agents = openClient(process, 'agents', { address: config.AGENTS_ADDRESS, as: 'gateway', config });
  process.health.addCheck('agents', () => agents.checkHealth());
  // These two have no readiness check: without them, only their own routes fail.
  const templates = openClient(process, 'templates', { address: config.TEMPLATES_ADDRESS, as: 'gateway', config });
  const webhooks = openWebhooksClient(process, config, 'gateway');
  const redis = await openRedis(process, config, redisLimitMs === undefined ? {} : { commandLimitMs: redisLimitMs });
  const drainMs = config.ANSWER_WAIT_DRAIN_SECONDS * 1_000;
  const bufferedBytes = new BufferedBytes();
  const waiting = await openAnswers(process, { agents, redis, bufferedBytes, waitMs: config.ANSWER_WAIT_SECONDS * 1_000, drainMs });

  const limiter = openLimiter(process, redis, redisLimitMs);
  const limits = {
    readsPerMinute: config.RATE_LIMIT_READS_PER_MINUTE,
    writesPerMinute: config.RATE_LIMIT_WRITES_PER_MINUTE,
    messagesPerMinute: config.RATE_LIMIT_MESSAGES_PER_MINUTE,
    endUserMessagesPerMinute: config.RATE_LIMIT_END_USER_MESSAGES_PER_MINUTE,
    tokensPerMinute: config.RATE_LIMIT_TOKENS_PER_MINUTE,
    failedAuthenticationsPerMinute: config.RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE,
  };
  const rules = createRules(limits);
  const pipeline = createPipeline({
    authenticator: createAuthenticator({ ask: askIdentity(identity, authenticateTimeoutMs) }),
    limiter,
    rules,
    failures: createFailedAuthentications(limiter, rules.forFailedAuthentication),
    addressOf: ({ request }) =>
      countedAddress(clientAddress(request.socket.remoteAddress ?? '', request.get('x-forwarded-for'), config.TRUSTED_PROXIES)),
    backends: {
      identity,
      credits,
      agents,
      templates,
      ...(webhooks && { webhooks }),
      answers: waiting.answers,
      limits: callerLimits(limits),
      publishedKeys: publishedKeys(identity),
    },
    bufferedBytes,
  });
  const cors = createCors(config.CORS_ORIGINS);
  const respond = createResponder({ observer: createObserver(process), delivery: { stopping: process.draining, bufferedBytes, cors } });
  const served = webhooks ? everyRoute : routes;
  const pages = [livez, readyz(process.health), openapi(served, config.PUBLIC_URL), ...docs];
  const server = createHttpServer(createApp({ routes: served, pages, pipeline, respond, cors }));
  limitConnections(server, process, config);
  const port = await listen(server, config.HOST, config.PORT);
  process.onStop('http server', () => closeServer(server));
  // Registered last and so run first: requests that wait for answers hold connections, and the server would wait for those.
  process.onStop('waiting answers', () => waiting.stop(), drainMs + drainGraceMs);
  process.logger.info({ event: 'http_listening', port });
  return port;
}

function openLimiter(process: ProcessContext, redis: RedisConnections, limitMs: number | undefined): Limiter {
  const fallbacks = process.metrics.counter('limits_without_redis_total', 'Requests that this process limited by itself', []);
  const shared = createRedisLimiter(createLimiterRedis(redis, limitMs));
  const onFailure = (cause: unknown) => process.logger.warn({ event: 'limits_without_redis', err: cause });
  return createFallbackLimiter({ shared, local: createLocalLimiter(), onFallback: () => fallbacks.inc(), onFailure });
}
