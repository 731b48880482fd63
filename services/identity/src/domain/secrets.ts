import { createHmac, timingSafeEqual } from 'node:crypto';

/** The form in which API keys and client secrets are stored: useless without the service's own secret. */
export interface KeyedHash {
  (secret: string): string;
  /** The hashes of a secret under each key that is accepted while one key replaces another; first the hash that is stored now. */
  readonly accepted: (secret: string) => readonly string[];
}

export function createKeyedHash(keys: readonly string[]): KeyedHash {
  const hash = (key: string, secret: string) => createHmac('sha256', key).update(secret).digest('base64url');
  const [first = ''] = keys;
  return Object.assign((secret: string) => hash(first, secret), { accepted: (secret: string) => keys.map((key) => hash(key, secret)) });
}

/** Takes as long for a wrong text as for the right one. */
export function isSameText(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of the alphabet's size that fits a byte. Larger bytes are skipped, so that all letters are equally likely. */
const usableBytes = 256 - (256 % alphabet.length);
const clientSecretLetters = 43;

type RandomBytes = (count: number) => Uint8Array;

/** Text of 62 letters from random bytes. */
export function makeRandomText(letters: number, randomBytes: RandomBytes): string {
  let text = '';
  while (text.length < letters) {
    for (const byte of randomBytes(letters)) {
      if (byte < usableBytes && text.length < letters) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

/** A new OAuth client secret: 256 bits, with a prefix that secret scanners recognize. */
export const makeClientSecret = (randomBytes: RandomBytes): string => `sas_${makeRandomText(clientSecretLetters, randomBytes)}`;
