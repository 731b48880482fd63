import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const standardPrefix = 'whsec_';

export interface Signed {
  eventId: string;
  /** The raw body. */
  body: string;
  /** The newest first. */
  secrets: readonly string[];
  nowMs: number;
}

/**
 * The headers by which a receiver knows that the body came from here. X-Service-Signature is made with the newest secret's
 * characters as they are. The Standard Webhooks ones also prove the time, against replay, and carry one signature a secret.
 */
export function signatureHeaders({ eventId, body, secrets, nowMs }: Signed): Record<string, string> {
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

/** What Standard Webhooks libraries make of a secret: base64 behind whsec_; a secret of another form is its own characters. */
function standardKey(secret: string): KeyObject {
  const encoded = secret.slice(standardPrefix.length);
  const bytes = Buffer.from(encoded, 'base64');
  const standard = secret.startsWith(standardPrefix) && bytes.length > 0 && bytes.toString('base64') === encoded;
  // A key object, because bytes would be made into one at more than three times the cost.
  return createSecretKey(standard ? bytes : Buffer.from(secret));
}
