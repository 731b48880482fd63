import type { paths } from '@agent-service/client';
import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { ApiError, errorOf } from './errors.ts';

export const environments = ['live', 'test'] as const;
export type Environment = (typeof environments)[number];

let csrfToken = '';

/** The token of the session, which every request that changes something has to carry. */
export function setCsrfToken(token: string) {
  csrfToken = token;
}

let onSessionEnd: () => void = () => undefined;

/** Names what to do where a reply says that the session has ended. */
export function setOnSessionEnd(listener: () => void) {
  onSessionEnd = listener;
}

let renewSession: () => Promise<unknown> = async () => undefined;

/** Names how the session is read again, which sets its token. */
export function setRenewSession(renew: () => Promise<unknown>) {
  renewSession = renew;
}

const safeMethods = ['GET', 'HEAD'];

/** `fetch` with the token of the session. A sign-in in another window changes the token: then it is read again, and the request repeated once. */
async function fetchWithToken(sent: Request): Promise<Response> {
  if (safeMethods.includes(sent.method)) return await fetch(sent);
  const { url, method, signal } = sent;
  // A text can be sent twice, also over HTTP/1.1, which is not so for the stream that a clone has.
  const body = (await sent.text()) || null;
  const attempt = async () => {
    const headers = new Headers(sent.headers);
    headers.set('X-CSRF-Token', csrfToken);
    return await fetch(url, { method, headers, body, signal, credentials: 'same-origin' });
  };
  const token = csrfToken;
  const response = await attempt();
  if (response.status !== 403 || (await errorOf(response.clone())).code !== 'csrf_refused') return response;
  if (token === csrfToken) await renewSession();
  return token === csrfToken ? response : await attempt();
}

/** Refusals that may come from a role that changed after the page had read the session. */
const roleRefusals = ['insufficient_scope', 'admin_required'];

async function refusalOf(response: Response): Promise<ApiError> {
  const refusal = await errorOf(response);
  if (refusal.code === 'unauthorized') onSessionEnd();
  // The refusal itself is what the user has to see, whether or not the session can be read.
  if (roleRefusals.includes(refusal.code)) renewSession().catch(() => undefined);
  return refusal;
}

/** Says of a reply that did not arrive as a whole, or is none of the service, that the service could not be reached. */
async function mapFailure<Result>(reply: Promise<Result>): Promise<Result> {
  try {
    return await reply;
  } catch (cause) {
    // A DOMException says that the caller ended the request.
    throw cause instanceof ApiError || cause instanceof DOMException ? cause : new ApiError(0, undefined);
  }
}

/** `fetch` whose failures are all an ApiError. */
async function send(sent: Request): Promise<Response> {
  const response = await mapFailure(fetchWithToken(sent));
  if (!response.ok) throw await refusalOf(response);
  return response;
}

export const request = (path: string, init: RequestInit = {}): Promise<Response> =>
  send(new Request(path, { ...init, credentials: 'same-origin' }));

/** With a signal, throws at the end of the time if the caller has left by then. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal?.throwIfAborted();
}

/** crypto.randomUUID exists only on https and on localhost. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const idempotencyKey = 'Idempotency-Key';

const middleware: Middleware = {
  onRequest({ request: sent }) {
    // Browsers repeat a request by themselves when the connection that it used turns out to be closed.
    if (sent.method === 'POST' && !sent.headers.has(idempotencyKey)) sent.headers.set(idempotencyKey, randomKey());
    return sent;
  },
};

function createApi(environment: Environment): Client<paths> {
  const client = createClient<paths>({
    baseUrl: `${location.origin}/api/${environment}`,
    credentials: 'same-origin',
    fetch: send,
  });
  client.use(middleware);
  return client;
}

const clients = { live: createApi('live'), test: createApi('test') };

/** The API in an environment. Its refusals are thrown, so `data` is there when a call returns. */
export const api = (environment: Environment): Client<paths> => clients[environment];

/** The body of a reply that was no refusal. */
export async function bodyOf<Body>(call: Promise<{ data?: Body; response: Response }>): Promise<Exclude<Body, undefined>> {
  const { data, response } = await mapFailure(call);
  if (data === undefined) throw new ApiError(response.status, undefined);
  return data as Exclude<Body, undefined>;
}

/** A request to the portal itself: sessions, invitations, data sources. */
export async function portal<Body = undefined>(method: string, path: string, body?: unknown): Promise<Body> {
  const response = await request(`/api${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return (response.status === 204 ? undefined : await mapFailure(response.json())) as Body;
}
