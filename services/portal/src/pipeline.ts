import type { BlockList } from 'node:net';
import { type CallContext, ServiceError, withCall } from '@agent-service/contracts';
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
}

const checkUnambiguous = createAmbiguityCheck(['Cookie', 'Origin', 'X-CSRF-Token', 'Idempotency-Key']);

/** The checks of every request, in this order: it is unambiguous, of this origin, and of a session whose page sent it. */
export async function admit(
  exchange: Exchange,
  access: PortalRoute['access'],
  { backends, origin }: PipelineDeps,
): Promise<Session | undefined> {
  const { request } = exchange;
  checkUnambiguous(request);
  if (changesState(request)) requireSameOrigin(request, origin);
  if (access === 'everyone') return undefined;
  const session = await callFor(exchange, () => backends.sessions.resume(backends.cookie.read(request)));
  if (changesState(request)) requireCsrfToken(request, session.token);
  if (access === 'administrator' && session.user.role !== 'admin')
    throw new ServiceError('admin_required', { message: 'Only administrators may do this.' });
  return session;
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
    const address = clientAddress(request.socket.remoteAddress ?? '', request.get('x-forwarded-for'), deps.trustedProxies);
    const input: PortalRequest = {
      exchange,
      body,
      client: { address, countedAddress: countedAddress(address), userAgent: request.get('user-agent') ?? '' },
      sessionToken: deps.backends.cookie.read(request),
      origin: originOf(request, deps.origin),
    };
    return await callFor(exchange, () => route.handler({ ...input, session } as never, deps.backends), route.limitMs);
  };

async function readInput({ body, method }: PortalRoute, { request }: Exchange): Promise<unknown> {
  if (body) return validate(body, await readBody(request, 'json', bodyLimits.usual));
  if (method !== 'GET') await refuseBody(request, bodyLimits.usual);
  return undefined;
}
