import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const standardPrefix = 'whsec_';

interface SignedRequest {
  eventId: string;
  /** The raw body. */
  body: string;
  /** Newest first. */
  secrets: readonly string[];
  nowMs: number;
}

/**
 * Headers that prove the origin of the body. X-Service-Signature is keyed with the newest secret's characters. The headers of Standard Webhooks
 * also sign the time, against replay, and have a signature for each secret.
 */
export function signatureHeaders({ eventId, body, secrets, nowMs }: SignedRequest): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1000).toString();
  const content = `${eventId}.${timestamp}.${body}`;
  const standard = secrets.map((secret) => `v1,${createHmac('sha256', standardKey(secret)).update(content).digest('base64')}`);
  return {
    'x-service-signature': `sha256=${createHmac('sha256', secrets[0] ?? '')
      .update(body)
      .digest('hex')}`,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  };
}

/** The key that Standard Webhooks libraries derive: the base64 after `whsec_`, or the characters of a secret in another form. */
function standardKey(secret: string): KeyObject {
  const encoded = secret.slice(standardPrefix.length);
  const bytes = Buffer.from(encoded, 'base64');
  const standard = secret.startsWith(standardPrefix) && bytes.length > 0 && bytes.toString('base64') === encoded;
  // A key object: converting bytes at each call costs more than three times as much.
  return createSecretKey(standard ? bytes : Buffer.from(secret));
}
