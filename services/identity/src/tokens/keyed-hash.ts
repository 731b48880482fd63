import { createHmac } from 'node:crypto';

/** The only form in which API keys and client secrets are stored: useless without the service's own secret. */
export type KeyedHash = (secret: string) => string;

export const createKeyedHash =
  (key: string): KeyedHash =>
  (secret) =>
    createHmac('sha256', key).update(secret).digest('base64url');
