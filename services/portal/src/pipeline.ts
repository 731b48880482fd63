import type { BlockList } from 'node:net';
import { type CallContext, ServiceError, withCall } from '@agent-service/contracts';
import type { FailedAuthentications } from '@agent-service/http/limits/failed-authentications';
import { abortedWithClient, type Exchange } from '@agent-service/http/replies/exchange';
import type { Reply } from '@agent-service/http/replies/reply';
import { createAmbiguityCheck } from '@agent-service/http/requests/ambiguity';
import { bodyLimits, readBody, refuseBody } from '@agent-service/http/requests/body';
import { clientAddress, countedAddress } from '@agent-service/http/requests/client-address';
import { validate } from '@agent-service/http/requests/validate';
import type { Backends, PortalRequest, PortalRoute } from './routes/route.ts';
import { changesState, originOf, requireCsrfToken, requireSameOrigin } from './sessions/same-origin.ts';
import type { Session } from './sessions/sessions.ts';

/** A change of a password hashes twice, and other sign-ins may be before it. */
const deadlineMs = 10_000;

export interface PipelineDeps {
  readonly backends: Backends;
  /** The origin of the portal's pages; undefined where it is that of the address which the browser asked. */
  readonly origin: string | undefined;
  readonly trustedProxies: BlockList;
  readonly failures: FailedAuthentications;
}

const checkUnambiguous = createAmbiguityCheck(['Cookie', 'Origin', 'X-CSRF-Token', 'Idempotency-Key']);

/** The checks of every request, in this order: it is unambiguous, of this origin, and of a session whose page sent it. */
export async function admit(exchange: Exchange, access: PortalRoute['access'], deps: PipelineDeps): Promise<Session | undefined> {
  const { request } = exchange;
  const { backends, origin } = deps;
  checkUnambiguous(request);
  if (changesState(request)) requireSameOrigin(request, origin);
  if (access === 'everyone') return undefined;
  const token = backends.cookie.read(request);
  const session = await limitUnproven(exchange, deps, () => callFor(exchange, () => backends.sessions.resume(token)));
  if (changesState(request)) requireCsrfToken(request, session.token);
  if (access === 'administrator' && session.user.role !== 'admin')
    throw new ServiceError('admin_required', { message: 'Only administrators may do this.' });
  return session;
}

const clientAddressOf = ({ request }: Exchange, { trustedProxies }: PipelineDeps): string =>
  clientAddress(request.socket.remoteAddress ?? '', request.get('x-forwarded-for'), trustedProxies);

/** The codes of requests that prove nothing about their sender. Each costs a look-up by identity or by the provider. */
const unproven: readonly string[] = ['unauthorized', 'not_found', 'invalid_credentials', 'invalid_token', 'rate_limited'];

/** Refuses an address with too many unproven requests before identity is asked, unless its session was valid lately. */
async function limitUnproven<T>(exchange: Exchange, deps: PipelineDeps, work: () => Promise<T>): Promise<T> {
  const { failures, backends } = deps;
  const token = backends.cookie.read(exchange.request);
  const addressOf = () => countedAddress(clientAddressOf(exchange, deps));
  const refusal = failures.refusalOf(addressOf);
  if (refusal && !backends.sessions.knows(token)) {
    exchange.limits = refusal;
    throw new ServiceError('rate_limited');
  }
  try {
    return await work();
  } catch (cause) {
    const { code } = ServiceError.from(cause);
    // Without a cookie there is nothing to look up.
    if (unproven.includes(code) && (code !== 'unauthorized' || token !== '')) await failures.count(addressOf());
    throw cause;
  }
}

/** Runs calls of services with the id and the deadline of the request. */
export function callFor<T>(exchange: Exchange, work: () => Promise<T>, limitMs = deadlineMs): Promise<T> {
  const context: CallContext = {
    requestId: exchange.requestId,
    expiresAt: performance.now() + limitMs,
    // A change is completed even if its browser goes away.
    signal: changesState(exchange.request) ? undefined : abortedWithClient(exchange),
  };
  return withCall(context, work);
}

export const createPipeline =
  (deps: PipelineDeps) =>
  (route: PortalRoute) =>
  async (exchange: Exchange): Promise<Reply> => {
    const { request } = exchange;
    const session = await admit(exchange, route.access, deps);
    const body = await readInput(route, exchange);
    const address = clientAddressOf(exchange, deps);
    const input: PortalRequest = {
      exchange,
      body,
      client: { address, countedAddress: countedAddress(address), userAgent: request.get('user-agent') ?? '' },
      sessionToken: deps.backends.cookie.read(request),
      origin: originOf(request, deps.origin),
    };
    const handle = () => callFor(exchange, () => route.handler({ ...input, session } as never, deps.backends), route.limitMs);
    const reply = route.access === 'everyone' ? limitUnproven(exchange, deps, handle) : handle();
    const { replyToRefusal } = route;
    return await (replyToRefusal ? reply.catch((cause: unknown) => replyToRefusal(refusalOf(cause), deps.backends)) : reply);
  };

/** The refusal of a request. Throws a fault of the service instead, which is logged and shown like every other fault. */
function refusalOf(cause: unknown): ServiceError {
  const refusal = ServiceError.from(cause);
  if (refusal.definition.http === 500) throw cause;
  return refusal;
}

async function readInput({ body, method }: PortalRoute, { request }: Exchange): Promise<unknown> {
  if (body) return validate(body, await readBody(request, 'json', bodyLimits.usual));
  if (method !== 'GET') await refuseBody(request, bodyLimits.usual);
  return undefined;
}
