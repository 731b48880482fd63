import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Where a process receives: the name of its channel in Redis, and the key that its publishers sign with. Addresses travel by gRPC and are stored in
 * PostgreSQL, so that a program that reaches only Redis can sign nothing. Addresses of the version before have no key.
 */
const separator = '#';
const keyBytes = 32;
/** A SHA-256 as base64url. */
const signatureLength = 43;

export const newKey = (): string => randomBytes(keyBytes).toString('base64url');

export const addressOf = (name: string, key: string): string => `${name}${separator}${key}`;

const signatureOf = (text: string, key: string): string => createHmac('sha256', key).update(text).digest('base64url');

/** The channel and the signed text to publish there, so that the text arrives at the address. */
export function seal(address: string, text: string): { readonly channel: string; readonly text: string } {
  const [channel = '', key] = address.split(separator);
  return { channel, text: key === undefined ? text : signatureOf(text, key) + text };
}

/** The text that was sealed for the address with this key; fails for every other text. */
export function unseal(sealed: string, key: string): string {
  const text = sealed.slice(signatureLength);
  const signature = Buffer.from(sealed.slice(0, signatureLength));
  const expected = Buffer.from(signatureOf(text, key));
  if (signature.length === expected.length && timingSafeEqual(signature, expected)) return text;
  throw new Error('a parcel is not signed with the key of its channel');
}
