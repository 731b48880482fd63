import { crc32 } from 'node:zlib';
import type { Environment } from './principal.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^sa_(?:live|test)_[0-9A-Za-z]{38}$/;
const checksumLength = 6;

function checksum(text: string): string {
  let rest = crc32(text);
  let letters = '';
  while (letters.length < checksumLength) {
    letters = alphabet.charAt(rest % alphabet.length) + letters;
    rest = Math.floor(rest / alphabet.length);
  }
  return letters;
}

/** A key from 32 random characters; its last six are a checksum, so garbage is refused without a look-up. */
export function makeApiKey(environment: Environment, random: string): string {
  const body = `sa_${environment}_${random}`;
  return body + checksum(body);
}

/** True if the text has the form of a key. The key itself may not exist. */
export function isWellFormedApiKey(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}
