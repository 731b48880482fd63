import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { openClient, ServiceError } from '@agent-service/contracts';
import { createApp } from '@agent-service/http/app';
import { createFailedAuthentications } from '@agent-service/http/limits/failed-authentications';
import { createLocalLimiter } from '@agent-service/http/limits/local-limiter';
import { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { createCors } from '@agent-service/http/replies/cors';
import type { Exchange } from '@agent-service/http/replies/exchange';
import type { Reply } from '@agent-service/http/replies/reply';
import { createObserver, createResponder } from '@agent-service/http/replies/responder';
import { createHttpServer, limitConnections } from '@agent-service/http/server';
import type { ProcessContext } from '@agent-service/runtime';
import { closeServer, listen } from '@agent-service/runtime/listen';
import type { PortalConfig } from './config.ts';
import { createForwarder, inFlightOfProcess } from './forward/forward.ts';
import { Gateways } from './forward/gateways.ts';
import { forwardedPath, isForwarded } from './forward/path.ts';
import { isDocumentPath, loadDocuments, loadPages } from './pages/pages.ts';
import { createPipeline, type PipelineDeps } from './pipeline.ts';
import { routes } from './routes/index.ts';
import { createSessionCookie, createSignInCookie } from './sessions/cookie.ts';
import { createProvider } from './sessions/provider.ts';
import { createSessions } from './sessions/sessions.ts';

const builtPages = fileURLToPath(new URL('../web/dist', import.meta.url));
/** In a checkout. The path is the same from the sources of this service and from its build. */
const builtDocuments = fileURLToPath(new URL('../../../.cache/docs-site/.vitepress/dist', import.meta.url));
const connectLimitMs = 2_000;
/** The head of a reply to a message comes after the longest wait for an answer. */
const headMarginMs = 10_000;
/** A gateway ends every other request after 10 s. Where one address stands for all gateways, a connection may lead to a frozen one. */
const usualHeadLimitMs = 12_000;
/** The unproven requests of one address in a minute, with all users behind it. */
const failuresOfAddress = { name: 'failed-requests', limit: 300 };

interface PortalTiming {
  readonly headLimitMs?: number;
  /** The monotonic clock by which requests of an address are counted. */
  readonly now?: () => number;
}

/** Composes the service; resolves to its HTTP port. */
export async function start(
  process: ProcessContext,
  config: PortalConfig,
  { headLimitMs = usualHeadLimitMs, now = () => performance.now() }: PortalTiming = {},
): Promise<number> {
  const identity = openClient(process, 'identity', { address: config.IDENTITY_ADDRESS, as: 'portal', config, followsClock: true });
  process.health.addCheck('identity', () => identity.checkHealth());
  const agents = openClient(process, 'agents', { address: config.AGENTS_ADDRESS, as: 'portal', config, followsClock: true });
  const gateways = new Gateways(config.GATEWAY_URL, {
    // One for each request that may be under way, so that no request waits for a connection.
    connections: inFlightOfProcess,
    pipelining: 1,
    connect: { timeout: connectLimitMs },
  });
  process.onStop('gateway connections', () => gateways.destroy());

  const origin = config.PORTAL_URL && new URL(config.PORTAL_URL).origin;
  const isSecure = origin?.startsWith('https:') ?? false;
  const provider = createProvider(config);
  const signIns = process.metrics.counter('portal_sign_ins_total', 'Attempts to sign in, by their outcome', ['method', 'outcome']);
  const bufferedBytes = new BufferedBytes();
  const deps: PipelineDeps = {
    backends: {
      identity,
      agents,
      apiAddress: apiAddressOf(config),
      sessions: createSessions(identity),
      cookie: createSessionCookie(isSecure),
      provider,
      signInCookie: createSignInCookie(isSecure),
      countSignIn: (method, outcome) => signIns.inc({ method, outcome }),
      onProviderRefusal: (cause) => process.logger.warn({ event: 'provider_refused', err: cause }),
      features: { webhooks: config.WEBHOOKS_ENABLED, openid_connect: provider !== undefined },
    },
    origin,
    trustedProxies: config.TRUSTED_PROXIES,
    failures: createFailedAuthentications(createLocalLimiter(now), (address) => [{ key: address, policy: failuresOfAddress }], now),
  };
  const forward = createForwarder({
    ...deps,
    gateways,
    bufferedBytes,
    headLimits: { messageMs: config.ANSWER_WAIT_SECONDS * 1_000 + headMarginMs, usualMs: headLimitMs },
    stopping: process.stopping,
  });
  const pages = await loadPages(config.PORTAL_PAGES_DIR ?? builtPages);
  const documents = await loadDocuments(config.PORTAL_DOCS_DIR ?? builtDocuments);
  const cors = createCors([]);
  const respond = createResponder({ observer: createObserver(process), delivery: { stopping: process.draining, bufferedBytes, cors } });
  const unmatched = (request: IncomingMessage) =>
    answerOther(request, forward, (page) => (isDocumentPath(page.url ?? '') ? documents.answer(page) : pages.answer(page)));
  const server = createHttpServer(createApp({ routes, pages: [], pipeline: createPipeline(deps), respond, cors, unmatched }));
  limitConnections(server, process, config);
  const port = await listen(server, config.HOST, config.PORTAL_PORT);
  process.onStop('http server', () => closeServer(server));
  process.logger.info({ event: 'http_listening', port });
  return port;
}

/** The address of the API, as callers write it before `/v1`. */
const apiAddressOf = ({ PUBLIC_URL, PUBLIC_PORT, GATEWAY_URL }: PortalConfig): string => {
  const local = PUBLIC_PORT === undefined ? (GATEWAY_URL[0] as string) : `http://127.0.0.1:${PUBLIC_PORT}`;
  return (PUBLIC_URL === '/' ? local : PUBLIC_URL).replace(/\/+$/, '');
};

/** Requests that no route takes: those for the public API are forwarded, every other GET outside of /api gets a page. */
function answerOther(request: IncomingMessage, forward: ReturnType<typeof createForwarder>, page: (request: IncomingMessage) => Reply) {
  const url = request.url ?? '';
  if (isForwarded(url)) return { route: '/api/{environment}/v1/*', answer: (exchange: Exchange) => forward(exchange, forwardedPath(url)) };
  if (/^\/api(?:\/|$|\?)/.test(url)) return { route: 'unmatched', answer: () => refuse('not_found') };
  return {
    route: 'page',
    answer: () => (request.method === 'GET' || request.method === 'HEAD' ? page(request) : refuse('method_not_allowed')),
  };
}

function refuse(code: 'not_found' | 'method_not_allowed'): never {
  throw new ServiceError(code, code === 'not_found' ? { message: 'The portal has no such path.' } : {});
}
