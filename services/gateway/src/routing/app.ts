import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ServiceError } from '@agent-service/contracts';
import express, { type IRoute, type Request, type Response } from 'express';
import { errorReply, oauthErrorReply } from '../http/error-reply.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';
import type { Responder } from '../http/responder.ts';
import type { Method, Route } from './route.ts';

interface AppDeps {
  readonly routes: readonly Route[];
  readonly pages: readonly Page[];
  readonly pipeline: (route: Route) => (exchange: Exchange) => Promise<Reply>;
  readonly respond: Responder;
}

/** Express as a router: one handler for each route and no middleware. */
export function createApp({ routes, pages, pipeline, respond }: AppDeps): RequestListener {
  const app = express();
  for (const setting of ['x-powered-by', 'etag']) app.disable(setting);
  for (const setting of ['case sensitive routing', 'strict routing']) app.enable(setting);
  app.set('query parser', 'simple');

  for (const [path, group] of Map.groupBy(routes, (route) => route.path)) {
    const methods = app.route(expressPath(path));
    for (const route of group)
      register(methods, route.method, respond(path, pipeline(route), route.errorForm === 'oauth' ? oauthErrorReply : errorReply));
    refuseOthers(
      methods,
      path,
      group.map(({ method }) => method),
      respond,
    );
  }
  for (const page of pages) {
    const methods = app.route(page.path);
    methods.get(respond(page.path, page.answer));
    refuseOthers(methods, page.path, ['GET'], respond);
  }
  const unmatched = createUnmatched(respond);
  return (request: IncomingMessage, response: ServerResponse) => {
    app(request as Request, response as Response, (cause?: unknown) => unmatched(request as Request, response as Response, cause));
  };
}

const expressPath = (template: string) => template.replaceAll(/\{(\w+)\}/g, ':$1');

function register(methods: IRoute, method: Method, handler: ReturnType<Responder>): void {
  methods[method.toLowerCase() as Lowercase<Method>](handler);
}

/** Answers 405 for other methods. GET includes HEAD, which Express answers without the body. */
function refuseOthers(methods: IRoute, path: string, allowed: readonly Method[], respond: Responder): void {
  const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  const refuse = () => {
    throw new ServiceError('method_not_allowed', { message: `This path has the methods ${allow}.` });
  };
  methods.all(
    respond(path, refuse, (exchange, error) => {
      const reply = errorReply(exchange, error);
      return { ...reply, headers: [...(reply.headers ?? []), 'Allow', allow] };
    }),
  );
}

const route = 'unmatched';

/** Answers requests without a route: an unknown path, or one that cannot be decoded. */
function createUnmatched(respond: Responder): (request: Request, response: Response, cause: unknown) => void {
  return (request, response, cause) => {
    const handler = respond(route, () => {
      throw failure(cause, request);
    });
    handler(request, response, () => undefined);
  };
}

const maxShownPath = 100;

function failure(cause: unknown, { path }: Request): ServiceError {
  if (!cause)
    return new ServiceError('not_found', {
      message: `There is no path ${path.slice(0, maxShownPath).toWellFormed()}. All paths are listed at /docs.`,
    });
  if (cause instanceof URIError) return new ServiceError('invalid_request', { message: 'The path has invalid percent-encoding.' });
  return ServiceError.from(cause);
}

/** A path outside the API: for browsers, tools and probes. */
export interface Page {
  readonly path: string;
  readonly answer: (exchange: Exchange) => Promise<Reply> | Reply;
}
