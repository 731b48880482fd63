const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const length = 43;
/** The largest multiple of the alphabet's size that fits a byte; above it, letters would not be equally likely. */
const fair = 256 - (256 % alphabet.length);

/** Text of 62 letters from random bytes; takes as many as it needs. */
export function randomText(letters: number, randomBytes: (count: number) => Uint8Array): string {
  let text = '';
  while (text.length < letters) {
    for (const byte of randomBytes(letters)) {
      if (byte < fair && text.length < letters) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

/** A new OAuth client secret: 256 bits, recognizable by secret scanners. */
export const makeClientSecret = (randomBytes: (count: number) => Uint8Array): string => `sas_${randomText(length, randomBytes)}`;
