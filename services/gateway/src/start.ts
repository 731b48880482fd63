import { createClient } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { closeServer, listen } from '@agent-service/runtime/listen';
import { askIdentity } from './auth/ask-identity.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import type { GatewayConfig } from './config.ts';
import { createApp } from './http/app.ts';
import { createObserver } from './http/observer.ts';
import { createPipeline } from './http/pipeline.ts';
import { createResponder } from './http/responder.ts';
import { createHttpServer } from './http/server.ts';
import { clientAddress } from './limits/client-address.ts';
import { createLastingLimiter } from './limits/lasting-limiter.ts';
import type { Limiter } from './limits/limiter.ts';
import { createLocalLimiter } from './limits/local-limiter.ts';
import { connectRedis } from './limits/redis.ts';
import { createRedisLimiter } from './limits/redis-limiter.ts';
import { createRules } from './limits/rules.ts';
import { docs } from './pages/docs.ts';
import { livez } from './pages/livez.ts';
import { openapi } from './pages/openapi.ts';
import { readyz } from './pages/readyz.ts';
import { publishedKeys } from './published-keys.ts';
import { routes } from './routes/index.ts';

const authenticateTimeoutMs = 1_000;

/** Composes the service; answers with its HTTP port. */
export async function start(process: ProcessContext, config: GatewayConfig): Promise<number> {
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: 'gateway', config });
  process.onStop('identity client', async () => identity.close());
  process.health.addCheck('identity', () => identity.checkHealth());
  const credits = createClient('credits', { address: config.CREDITS_ADDRESS, as: 'gateway', config });
  process.onStop('credits client', async () => credits.close());
  process.health.addCheck('credits', () => credits.checkHealth());

  const pipeline = createPipeline({
    authenticator: createAuthenticator({ ask: askIdentity(identity, authenticateTimeoutMs) }),
    limiter: await openLimiter(process, config),
    rules: createRules({
      readsPerMinute: config.RATE_LIMIT_READS_PER_MINUTE,
      writesPerMinute: config.RATE_LIMIT_WRITES_PER_MINUTE,
      messagesPerMinute: config.RATE_LIMIT_MESSAGES_PER_MINUTE,
      tokensPerMinute: config.RATE_LIMIT_TOKENS_PER_MINUTE,
    }),
    addressOf: ({ request }) => clientAddress(request.socket.remoteAddress ?? '', request.get('x-forwarded-for'), config.TRUSTED_PROXIES),
    backends: { identity, credits, publishedKeys: publishedKeys(identity) },
  });
  const respond = createResponder({ observer: createObserver(process), stopping: process.stopping });
  const pages = [livez, readyz(process.health), openapi(routes, config.PUBLIC_URL), ...docs];
  const server = createHttpServer(createApp({ routes, pages, pipeline, respond }));
  const port = await listen(server, config.HOST, config.PORT);
  process.onStop('http server', () => closeServer(server));
  process.logger.info({ event: 'http_listening', port });
  return port;
}

async function openLimiter(process: ProcessContext, { REDIS_URL }: GatewayConfig): Promise<Limiter> {
  const fallbacks = process.metrics.counter('limits_without_redis_total', 'Requests that this process limited by itself', []);
  const shared = createRedisLimiter(await connectRedis(process, REDIS_URL));
  return createLastingLimiter({ shared, local: createLocalLimiter(), onFallback: () => fallbacks.inc() });
}
