import { AgentServiceError, toApiError, toConnectionError } from './errors.ts';
import type { paths } from './gen/api.ts';
import { RateLimits } from './rate-limits.ts';
import { createAttempts, defaultMaxRetryWaitMs, type RetryOptions } from './retries.ts';
import { type Auth, redirect, type TokenSource, toTokenSource } from './tokens.ts';
import type { ApiResponse, CallOptions, Method, PathOf, RequestArguments, RequestOptions, ResponseBody } from './types.ts';
import { abortable, sleep, timeLimit } from './waiting.ts';

/** An operation that the service will replace. */
export interface DeprecationNotice {
  readonly operation: string;
  readonly since: Date;
  /** From when on it may be gone. */
  readonly sunset: Date | undefined;
  /** The `Link` header, which says where the replacement is described. */
  readonly link: string | undefined;
}

export interface ClientOptions extends RetryOptions {
  /** Called for each answer that says that its operation is deprecated. */
  readonly onDeprecated?: (notice: DeprecationNotice) => void;
  /** The address of the service, such as `https://agents.example.com`. */
  readonly baseUrl: string;
  readonly auth: Auth;
  /** Instead of the global one. */
  readonly fetch?: typeof fetch;
  /** The longest wait for an answer, for each attempt: 90 s unless given, longer than the service itself waits. */
  readonly timeoutMs?: number;
  /** Attempts after the first one, with growing pauses: 4 unless given. */
  readonly maxRetries?: number;
}

/** Calls of the API, typed by its OpenAPI document. Each method returns the body of the success or throws. */
export interface Client {
  get<P extends PathOf<'get'>>(path: P, ...options: RequestArguments<P, 'get'>): Promise<ResponseBody<P, 'get'>>;
  post<P extends PathOf<'post'>>(path: P, ...options: RequestArguments<P, 'post'>): Promise<ResponseBody<P, 'post'>>;
  put<P extends PathOf<'put'>>(path: P, ...options: RequestArguments<P, 'put'>): Promise<ResponseBody<P, 'put'>>;
  patch<P extends PathOf<'patch'>>(path: P, ...options: RequestArguments<P, 'patch'>): Promise<ResponseBody<P, 'patch'>>;
  delete<P extends PathOf<'delete'>>(path: P, ...options: RequestArguments<P, 'delete'>): Promise<ResponseBody<P, 'delete'>>;
  /** As the methods above, with the status and the headers of the answer. */
  request<M extends Method, P extends PathOf<M> & keyof paths>(
    method: M,
    path: P,
    options: RequestOptions<P, M>,
  ): Promise<ApiResponse<ResponseBody<P, M>>>;
  /** Sends a request as it is, once, with a token: for what is no JSON. The caller reads the body within its own limits. */
  send(request: RawRequest): Promise<Response>;
  /** Makes a `send` for all attempts of one call, which never continues it with the token of another caller. Without it they use `send`. */
  createSender?(): Client['send'];
  readonly maxRetries: number;
  /** Its rules for pauses, which streams follow too. */
  readonly retries: RetryOptions;
  /** The longest wait for an answer, for each attempt. */
  readonly timeoutMs: number;
  /** True where all tokens are of one credential. The next one of a function may be another caller's, who has Idempotency-Keys of their own. */
  readonly isOneCredential: boolean;
}

/** A request whose path and body are final. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

interface LooseOptions extends CallOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

/** Makes a client. It holds no connection and no timer, so nothing has to be closed. */
export function createClient(options: ClientOptions): Client {
  const { timeoutMs = 90_000, maxRetries = 4, maxRetryWaitMs = defaultMaxRetryWaitMs } = options;
  const baseUrl = readBaseUrl(options.baseUrl);
  const tokens = toTokenSource(options.auth);
  const createSender = createSenderFactory(baseUrl, tokens, options.fetch ?? ((...sent) => fetch(...sent)));
  // The limits of one token of a function say nothing about the next token, which may be another caller's.
  const limits = tokens.isOneCredential ? new RateLimits() : undefined;
  const attempts = createAttempts(options);

  const request = async (method: Method, path: string, call: LooseOptions = {}): Promise<ApiResponse<unknown>> => {
    const operation = `${method} ${path}`;
    const headers = requestHeaders(method, call);
    const sent = { method: method.toUpperCase(), path: fillPath(path, call), headers, body: bodyText(call) };
    const send = createSender();
    const untilSent = () => limits?.take(operation) ?? 0;
    const once = async () => {
      for (let waitMs = untilSent(); waitMs > 0; waitMs = untilSent()) {
        if (waitMs > maxRetryWaitMs) break;
        await sleep(waitMs, call.signal);
      }
      const limit = timeLimit(call.timeoutMs ?? timeoutMs, call.signal);
      try {
        const response = await send({ ...sent, signal: limit.signal });
        limits?.learn(operation, response.headers.get('ratelimit'));
        noticeDeprecation(operation, response.headers, options.onDeprecated);
        return await readResponse(response, limit.signal);
      } finally {
        limit.release();
      }
    };
    return await attempts(once, {
      isDelete: method === 'delete',
      maxRetries: call.maxRetries ?? maxRetries,
      signal: call.signal,
    });
  };
  const bodyOf =
    (method: Method) =>
    async (path: string, call?: LooseOptions): Promise<unknown> =>
      (await request(method, path, call)).body;
  return {
    get: bodyOf('get'),
    post: bodyOf('post'),
    put: bodyOf('put'),
    patch: bodyOf('patch'),
    delete: bodyOf('delete'),
    request,
    send: async (sent) => await createSender()(sent),
    createSender,
    maxRetries,
    retries: { maxRetryWaitMs, ...(options.onRetry && { onRetry: options.onRetry }) },
    timeoutMs,
    isOneCredential: tokens.isOneCredential ?? false,
  } as Client;
}

/** Without slashes at the end. A page may give a path of its own origin. Throws for an address that takes no requests, which would pass for a lost connection. */
function readBaseUrl(text: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const { protocol, username, password } = URL.canParse(text, page) ? new URL(text, page) : { protocol: '', username: '', password: '' };
  if ((protocol !== 'http:' && protocol !== 'https:') || username !== '' || password !== '')
    throw new TypeError('baseUrl needs the form https://agents.example.com, without a user and a password.');
  return text.replace(/\/+$/, '');
}

/** Throws before fetch does, whose error would quote a token and pass for a lost connection. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers))
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value.trim()))
      throw new AgentServiceError(`The value of ${name} has a character that headers cannot hold, such as a line break.`);
}

/** The service did nothing for such a request. Every other answer may be one of a proxy, or of an attempt that had its effect. */
const isRefusal = (status: number) => status === 401 || status === 429;

const isRead = (method: string) => method === 'GET' || method === 'HEAD';

/**
 * Makes functions, each of which sends the attempts of one call: with a token, and once more with a new one where the token was refused.
 * Where the next token may be another caller's, under which a repeated message is a new message, they keep their token unless the service has
 * refused all of them.
 */
function createSenderFactory(baseUrl: string, source: TokenSource, doFetch: typeof fetch): () => Client['send'] {
  const context = { baseUrl, fetch: doFetch };
  const sendWith = async (token: string, { method, path, headers, body, signal }: RawRequest): Promise<Response> => {
    const all = { ...headers, authorization: `Bearer ${token}` };
    checkHeaders(all);
    try {
      return await doFetch(`${baseUrl}${path}`, { method, headers: all, signal, redirect, ...(body !== undefined && { body }) });
    } catch (cause) {
      throw toConnectionError(cause, signal);
    }
  };
  const nextToken = async ({ signal }: RawRequest) => await abortable(source.token(context), signal);
  return () => {
    let current: string | undefined;
    // The attempts that may have had an effect, which no read has.
    let effects = 0;
    const attempt = async (token: string, request: RawRequest): Promise<Response> => {
      current = token;
      if (isRead(request.method)) return await sendWith(token, request);
      effects += 1;
      const response = await sendWith(token, request);
      if (isRefusal(response.status)) effects -= 1;
      return response;
    };
    return async (request) => {
      const token = current === undefined || source.isOneCredential ? await nextToken(request) : current;
      const response = await attempt(token, request);
      if (response.status !== 401 || !source.refused) return response;
      source.refused(token);
      if (effects > 0 && !source.isOneCredential) return response;
      const next = await nextToken(request);
      if (next === token) return response;
      await response.body?.cancel();
      return await attempt(next, request);
    };
  };
}

async function readResponse(response: Response, signal: AbortSignal): Promise<ApiResponse<unknown>> {
  const text = await response.text().catch((cause: unknown) => Promise.reject(toConnectionError(cause, signal)));
  const { status, headers } = response;
  if (!response.ok) throw toApiError(status, headers, text);
  const replayed = headers.get('idempotent-replayed') === 'true';
  return { status, headers, body: text === '' ? undefined : parseJson(text, response), replayed };
}

function parseJson(text: string, { status, headers }: Response): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw toApiError(status, headers, text);
  }
}

function noticeDeprecation(operation: string, headers: Headers, notify: ClientOptions['onDeprecated']): void {
  const [, seconds] = /^@(\d+)$/.exec(headers.get('deprecation') ?? '') ?? [];
  if (!notify || seconds === undefined) return;
  const sunset = headers.get('sunset');
  notify({
    operation,
    since: new Date(Number(seconds) * 1_000),
    sunset: sunset === null ? undefined : new Date(sunset),
    link: headers.get('link') ?? undefined,
  });
}

const keyBytes = 18;

/** Random, and safe in a header. `crypto.randomUUID` exists only in pages with HTTPS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(keyBytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Headers of the caller stand in place of ours. */
export function requestHeaders(method: Method, { headers, idempotencyKey, body, form }: LooseOptions): Record<string, string> {
  const own = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const isWrite = method === 'post' || method === 'put' || method === 'patch';
  return {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(isWrite && { 'idempotency-key': idempotencyKey ?? newIdempotencyKey() }),
    ...own,
  };
}

function bodyText({ body, form }: LooseOptions): string | undefined {
  if (form !== undefined) return new URLSearchParams(form).toString();
  return body === undefined ? undefined : JSON.stringify(body);
}

/**
 * The path with its parameters, which may hold any characters, and the query; undefined values are left out. URLs resolve `.` and `..`, also encoded,
 * so that they would lead to another path.
 */
export function fillPath(template: string, { path = {}, query = {} }: Pick<LooseOptions, 'path' | 'query'>): string {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = path[name];
    if (value === undefined || value === '') throw new TypeError(`The path ${template} needs a value for ${name}.`);
    if (value === '.' || value === '..') throw new TypeError(`The path ${template} cannot hold "${value}" as ${name}.`);
    return encodeURIComponent(value);
  });
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return search === '' ? filled : `${filled}?${search}`;
}
