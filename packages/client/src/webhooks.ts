import { AgentServiceError } from './errors.ts';

/** An event as a webhook receives it. `id` is the same in every delivery of it. */
export interface WebhookEvent<Data = Readonly<Record<string, unknown>>> {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly data: Data;
}

/** The request is not one that the service sent now. Answer 400, and do nothing. */
export class WebhookVerificationError extends AgentServiceError {
  override readonly name: string = 'WebhookVerificationError';
  readonly reason: 'missing_headers' | 'old_timestamp' | 'wrong_signature' | 'invalid_body';

  constructor(reason: WebhookVerificationError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface WebhookRequest {
  /** Exactly the bytes that arrived, or their text. A parsed body written again has another signature. */
  readonly body: string | Uint8Array;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface WebhookOptions {
  /** Several while a secret is replaced. */
  readonly secrets: string | readonly string[];
  /** How far the time of sending may be from that of this machine, in seconds: 300 unless given. */
  readonly toleranceSeconds?: number;
  /** The time of day in milliseconds. */
  readonly now?: () => number;
}

/** Checks the signature and the age of a delivery (Standard Webhooks) and returns its event. Throws a WebhookVerificationError otherwise. */
export async function verifyWebhook({ body, headers }: WebhookRequest, options: WebhookOptions): Promise<WebhookEvent> {
  const { secrets, toleranceSeconds = 300, now = Date.now } = options;
  const known = typeof secrets === 'string' ? [secrets] : secrets;
  // Every sender can sign with an empty secret, as that of a missing variable is.
  if (known.length === 0 || known.includes('')) throw new TypeError('verifyWebhook needs a secret, and none that is empty.');
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
  if (!id || !timestamp || !signatures || !/^\d{1,12}$/.test(timestamp))
    throw new WebhookVerificationError('missing_headers', 'The headers webhook-id, webhook-timestamp and webhook-signature are needed.');
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const content = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const received = signatures.split(' ').flatMap((part) => (part.startsWith('v1,') ? (bytesOf(part.slice(3)) ?? []) : []));
  // Every pair is compared, so that the time says nothing about which of them fits.
  let isGenuine = false;
  for (const secret of known) {
    const expected = await sign(secret, content);
    for (const signature of received) isGenuine = areEqual(signature, expected) || isGenuine;
  }
  if (!isGenuine) throw new WebhookVerificationError('wrong_signature', 'No signature of the request fits a known secret.');
  const ageSeconds = now() / 1_000 - Number(timestamp);
  if (Math.abs(ageSeconds) > toleranceSeconds)
    throw new WebhookVerificationError(
      'old_timestamp',
      `The request was signed ${Math.round(ageSeconds)} s ago; is the clock of this machine right?`,
    );
  return parseEvent(bytes);
}

function headerOf(headers: WebhookRequest['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === 'string') return value;
  // The service sends each of them once.
  return value?.length === 1 ? value[0] : undefined;
}

function parseEvent(bytes: Uint8Array): WebhookEvent {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError('invalid_body', 'The body is not JSON.');
  }
}

const prefix = 'whsec_';

async function sign(secret: string, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  // A secret of the caller's own in another form is its characters.
  const encoded = secret.startsWith(prefix) ? bytesOf(secret.slice(prefix.length)) : undefined;
  const key = encoded && encoded.length > 0 ? encoded : new TextEncoder().encode(secret);
  const hmac = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', hmac, content));
}

/** The bytes of canonical base64; undefined for other text. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(base64);
    return btoa(binary) === base64 ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : undefined;
  } catch {
    return undefined;
  }
}

/** Takes the same time wherever two values of one length differ. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let index = 0; index < a.length; index += 1) difference |= (a[index] ?? 0) ^ (b[index] ?? 0);
  return difference === 0;
}

function concatenate(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
