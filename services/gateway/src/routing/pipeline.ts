import { type CallContext, type Principal, type Scope, ServiceError, scopesOfRole, withCall } from '@agent-service/contracts';
import type { FailedAuthentications } from '@agent-service/http/limits/failed-authentications';
import type { Decision, Limiter, Rule } from '@agent-service/http/limits/limits';
import type { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { abortedWithClient, type Exchange } from '@agent-service/http/replies/exchange';
import type { Reply } from '@agent-service/http/replies/reply';
import { createAmbiguityCheck } from '@agent-service/http/requests/ambiguity';
import { readBody, refuseBody } from '@agent-service/http/requests/body';
import type { Authenticator } from '../auth/authenticator.ts';
import { bearerToken } from '../auth/authorization-header.ts';
import type { Rules } from '../limits/rules.ts';
import { deprecationHeaders } from './deprecation.ts';
import { idempotencyKey, readInput } from './input.ts';
import { explainNotFound } from './not-found.ts';
import { type Backends, bodyLimitsOf, isIdempotent, type Route, type RouteInput, RouteReply, successStatus } from './route.ts';

const deadlineMs = 10_000;
/** Two of these in one request would be read differently by proxies and servers: some drop the second, some join both. */
const checkUnambiguous = createAmbiguityCheck(['Authorization', 'Idempotency-Key']);

const streamType = 'text/event-stream';

interface PipelineDeps {
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly rules: Rules;
  readonly failures: FailedAuthentications;
  /** The key that limits count the caller's address under. */
  readonly addressOf: (exchange: Exchange) => string;
  readonly backends: Backends;
  readonly bufferedBytes: BufferedBytes;
}

/** Runs the steps of a request in order; each may end it. Callers rely on the order of the refusals. */
export function createPipeline(deps: PipelineDeps): (route: Route) => (exchange: Exchange) => Promise<Reply> {
  return (route) => {
    const serve = route.auth === 'token' ? serveWithToken(route, deps) : serveWithoutToken(route, deps);
    const headers = route.deprecation && deprecationHeaders(route.deprecation);
    return async (exchange) => {
      if (headers) exchange.routeHeaders = headers;
      checkUnambiguous(exchange.request);
      return serve(exchange);
    };
  };
}

/** Serves a route that needs a token. */
const serveWithToken = (route: Route, deps: PipelineDeps) => async (exchange: Exchange) => {
  const { token, principal } = await identify(exchange, deps);
  exchange.principal = principal;
  if (route.cost && route.cost !== 'token') await enforceLimits(exchange, deps, deps.rules.forPrincipal(route.cost, principal));
  authorize(route, principal, exchange.request.params['agent_id']);
  if (deps.bufferedBytes.isFull(principal.organizationId)) throw new ServiceError('rate_limited', { message: tooManyBuffered });
  const body = route.body ? await readCountedBody(route, deps, exchange, principal) : undefined;
  const mayHaveWaited = route.body !== undefined || (route.method !== 'GET' && (await refuseBody(exchange.request, bodyLimitsOf(route))));
  // A body may arrive slowly: a credential that was revoked in that time is refused.
  if (mayHaveWaited) exchange.principal = await deps.authenticator.authenticate(token);
  return runHandler(route, deps, exchange, body);
};

/** Reads the body, and counts its bytes until it is read. A body of unknown length counts as the largest that the route takes. */
async function readCountedBody(route: Route, { bufferedBytes }: PipelineDeps, { request }: Exchange, { organizationId }: Principal) {
  const limits = bodyLimitsOf(route);
  const release = bufferedBytes.add(organizationId, Math.min(Number(request.headers['content-length'] ?? limits.bytes), limits.bytes));
  try {
    return await readBody(request, route.bodyType ?? 'json', limits);
  } finally {
    release();
  }
}

const tooManyBuffered = 'Too many requests of the organization are being sent or read slowly. Read the answers to earlier ones first.';

/** Authenticates the caller. From an address with too many failures only tokens are accepted that were valid here before. */
async function identify(exchange: Exchange, deps: PipelineDeps): Promise<{ token: string; principal: Principal }> {
  const { authenticator, failures, addressOf } = deps;
  try {
    const token = bearerToken(exchange.request.headers.authorization);
    const refusal = failures.refusalOf(() => addressOf(exchange));
    if (refusal && !authenticator.knows(token)) {
      exchange.limits = refusal;
      throw new ServiceError('rate_limited');
    }
    return { token, principal: await authenticator.authenticate(token) };
  } catch (cause) {
    if (isGuess(cause)) await failures.count(addressOf(exchange));
    throw cause;
  }
}

interface Permission {
  readonly scope?: Scope | undefined;
  readonly admin?: boolean | undefined;
  readonly agentTokens?: boolean | undefined;
}

/** Throws unless the caller may use the endpoint. Runs before any look-up, so that it says nothing about what exists. */
function authorize({ scope, admin, agentTokens }: Permission, principal: Principal, agentId: unknown): void {
  if (scope && !principal.scopes.includes(scope)) {
    throw new ServiceError('insufficient_scope', {
      message: whyLacking(scope, principal),
      details: { required: [scope], granted: principal.scopes },
    });
  }
  if (admin && !principal.admin) throw new ServiceError('admin_required');
  if (principal.agentId && !(agentTokens && principal.agentId === agentId)) throw new ServiceError('wrong_audience');
}

/** Says which limit refused the caller: another key does not help a member, and another scope does not help a test key. */
function whyLacking(scope: Scope, { role, environment }: Principal): string {
  if (!scopesOfRole({ role, environment: 'live' }).includes(scope))
    return `Only administrators may do this: the user of this credential has the role member, which excludes the scope ${scope}.`;
  if (!scopesOfRole({ role, environment }).includes(scope))
    return `A credential of the test environment cannot change users, because they belong to both environments. Use a live one.`;
  return `The token lacks the scope ${scope}.`;
}

/** A caller whose credential has expired or was revoked had a valid one, and one without a credential does not try any. */
const isGuess = (cause: unknown) => cause instanceof ServiceError && cause.code === 'invalid_token';

/** Serves a route that needs no token. A token endpoint is limited by address before the body is read, and then by the claimed credential. */
const serveWithoutToken = (route: Route, deps: PipelineDeps) => async (exchange: Exchange) => {
  if (route.cost !== 'token') return runHandler(route, deps, exchange, route.body && (await preparedBody(route, exchange)));
  const { rules, addressOf } = deps;
  const address = addressOf(exchange);
  await enforceLimits(exchange, deps, rules.forTokenRequest(address));
  const body = await preparedBody(route, exchange);
  const credential = route.credential?.(body);
  if (credential === undefined) return runHandler(route, deps, exchange, body);
  await enforceLimits(exchange, deps, rules.forClaim(address, credential));
  const reply = await runHandler(route, deps, exchange, body);
  await enforceLimits(exchange, deps, rules.forIssuedToken(credential));
  return reply;
};

async function preparedBody(route: Route, { request }: Exchange): Promise<unknown> {
  const body = await readBody(request, route.bodyType ?? 'json', bodyLimitsOf(route));
  return route.prepare ? route.prepare({ body, authorization: request.headers.authorization }) : body;
}

/** Counts the request under these rules, keeps the state of the limits for the headers of the reply, and throws `rate_limited` where one is exceeded. */
async function enforceLimits(exchange: Exchange, { limiter }: PipelineDeps, rules: readonly Rule[]): Promise<void> {
  const decision = await limiter.take(rules);
  exchange.limits = exchange.limits ? mergeDecisions(exchange.limits, decision) : decision;
  if (!decision.allowed) throw new ServiceError('rate_limited');
}

/** The later decision, with the states of the limits that only the earlier one has. */
function mergeDecisions({ states: before }: Decision, { allowed, states }: Decision): Decision {
  const names = new Set(states.map(({ policy }) => policy.name));
  return { allowed, states: [...before.filter(({ policy }) => !names.has(policy.name)), ...states] };
}

async function runHandler(route: Route, { backends }: PipelineDeps, exchange: Exchange, body: unknown): Promise<Reply> {
  const input = readInput(route, exchange, body);
  const call = callContext(route, exchange, exchange.principal, input);
  const request = { ...input, call, disconnected: () => abortedWithClient(exchange) };
  return toReply(
    route,
    await withCall(call, () => route.handler(request, backends)).catch((cause: unknown) =>
      Promise.reject(explainNotFound(cause, input, exchange.principal)),
    ),
  );
}

function toReply(route: Route, result: unknown): Reply {
  if (result instanceof RouteReply) {
    const { status = successStatus(route), headers, stream } = result.parts;
    return { status, body: bodyOf(result.body), headers, stream, type: stream && streamType, cacheControl: route.cacheControl };
  }
  return { status: successStatus(route), body: bodyOf(result), cacheControl: route.cacheControl };
}

const bodyOf = (result: unknown) => (result === undefined ? undefined : JSON.stringify(result));

function callContext(route: Route, exchange: Exchange, principal: Principal | undefined, input: RouteInput): CallContext {
  const { request, requestId } = exchange;
  const idempotent = principal && isIdempotent(route);
  return {
    requestId,
    principal,
    expiresAt: performance.now() + deadlineMs,
    // A requested effect is carried out even if its caller disconnects.
    signal: route.method === 'GET' ? abortedWithClient(exchange) : undefined,
    idempotency: idempotent
      ? idempotencyKey(request.get('idempotency-key'), principal, route.method, pathOf(route, request.params), input.body)
      : undefined,
    onReplayed: idempotent ? () => void (exchange.replayed = true) : undefined,
  };
}

/** The path in one form: a client or proxy may percent-encode the ids of a repeated request differently. */
const pathOf = ({ path }: Route, params: Readonly<Record<string, unknown>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
