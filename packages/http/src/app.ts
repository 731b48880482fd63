import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ServiceError } from '@agent-service/contracts';
import express, { type IRoute, type Request, type Response } from 'express';
import type { Cors } from './replies/cors.ts';
import { errorReply, oauthErrorReply } from './replies/error-reply.ts';
import type { Exchange } from './replies/exchange.ts';
import type { Reply } from './replies/reply.ts';
import type { Responder } from './replies/responder.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A route as the router sees it. */
interface RoutedRequest {
  readonly method: Method;
  /** As in OpenAPI: `/v1/users/{user_id}`. */
  readonly path: string;
  /** The form of error bodies; `oauth` is the flat form of RFC 6749. */
  readonly errorForm?: 'envelope' | 'oauth';
}

interface Work {
  /** The name of the request in logs and metrics. */
  readonly route: string;
  readonly answer: (exchange: Exchange) => Promise<Reply> | Reply;
}

interface AppDeps<Route extends RoutedRequest> {
  readonly routes: readonly Route[];
  readonly pages: readonly Page[];
  readonly pipeline: (route: Route) => (exchange: Exchange) => Promise<Reply>;
  readonly respond: Responder;
  readonly cors: Cors;
  /** Answers requests that no route takes; without it they get 404. */
  readonly unmatched?: (request: IncomingMessage) => Work;
}

/** Express as a router: one handler for each route and no middleware. */
export function createApp<Route extends RoutedRequest>({
  routes,
  pages,
  pipeline,
  respond,
  cors,
  unmatched,
}: AppDeps<Route>): RequestListener {
  const app = express();
  for (const setting of ['x-powered-by', 'etag']) app.disable(setting);
  for (const setting of ['case sensitive routing', 'strict routing']) app.enable(setting);
  app.set('query parser', 'simple');

  const groups = [...Map.groupBy(routes, (route) => route.path)].sort(([a], [b]) => (sortKey(a) < sortKey(b) ? -1 : 1));
  for (const [path, group] of groups) {
    const methods = app.route(expressPath(path));
    for (const route of group)
      register(methods, route.method, respond(path, pipeline(route), route.errorForm === 'oauth' ? oauthErrorReply : errorReply));
    answerOthers(methods, path, group, { respond, cors });
  }
  for (const page of pages) {
    const methods = app.route(page.path);
    methods.get(respond(page.path, page.answer));
    answerOthers(methods, page.path, [{ method: 'GET' }], { respond, cors });
  }
  const respondUnmatched = createUnmatched(respond, unmatched);
  return (request: IncomingMessage, response: ServerResponse) => {
    app(request as Request, response as Response, (cause?: unknown) => respondUnmatched(request as Request, response as Response, cause));
  };
}

/** A path with a literal segment sorts before one with a parameter in its place, which would match the same requests. */
const sortKey = (template: string) => template.replaceAll(/\{\w+\}/g, '\uffff');

const expressPath = (template: string) => template.replaceAll(/\{(\w+)\}/g, ':$1');

function register(methods: IRoute, method: Method, handler: ReturnType<Responder>): void {
  methods[method.toLowerCase() as Lowercase<Method>](handler);
}

/**
 * Answers preflight requests of browsers, and 405 for other methods. GET includes HEAD, which Express answers without the body.
 * A preflight carries no credential, so it is neither authenticated nor limited.
 */
function answerOthers(
  methods: IRoute,
  path: string,
  allowed: readonly { readonly method: Method }[],
  { respond, cors }: Pick<AppDeps<RoutedRequest>, 'respond' | 'cors'>,
): void {
  const allow = allowed.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  const answer = ({ request }: Exchange): Reply => {
    const headers = cors.preflightHeaders(request, allow);
    if (headers) return { status: 204, headers };
    const hint = request.headers['access-control-request-method'] ? ' Pages may call it from the origins that CORS_ORIGINS lists.' : '';
    throw new ServiceError('method_not_allowed', { message: `This path has the methods ${allow}.${hint}` });
  };
  methods.all(
    respond(path, answer, (exchange, error) => {
      const reply = errorReply(exchange, error);
      return { ...reply, headers: [...(reply.headers ?? []), 'Allow', allow] };
    }),
  );
}

/** Answers requests without a route: an unknown path, or one that cannot be decoded. */
function createUnmatched(
  respond: Responder,
  unmatched: AppDeps<RoutedRequest>['unmatched'],
): (request: Request, response: Response, cause: unknown) => void {
  return (request, response, cause) => {
    const { route, answer } = (!cause && unmatched?.(request)) || refusal(cause, request);
    respond(route, answer)(request, response, () => undefined);
  };
}

const refusal = (cause: unknown, request: Request): Work => ({
  route: 'unmatched',
  answer: () => {
    throw failure(cause, request);
  },
});

const maxShownPath = 100;

function failure(cause: unknown, request: Request): ServiceError {
  if (!cause) return unknownPath(request);
  if (cause instanceof URIError) return new ServiceError('invalid_request', { message: 'The path has invalid percent-encoding.' });
  return ServiceError.from(cause);
}

/** A request line may name a whole URL. An invalid one, such as http://[, has no path. */
function unknownPath(request: Request): ServiceError {
  try {
    const path = request.path.slice(0, maxShownPath).toWellFormed();
    return new ServiceError('not_found', { message: `There is no path ${path}. All paths are listed at /docs.` });
  } catch (cause) {
    return new ServiceError('invalid_request', { message: 'The request line has no valid URL.', cause });
  }
}

/** A path outside the API: for browsers, tools and probes. */
export interface Page {
  readonly path: string;
  readonly answer: (exchange: Exchange) => Promise<Reply> | Reply;
}
