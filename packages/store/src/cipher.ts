import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** `1:<base64 of 32 bytes>,2:…`; the highest version encrypts, all decrypt. */
const encryptionKeys = z
  .string()
  .transform((value) => value.split(',').map((entry) => entry.trim().split(':')))
  .refine(
    (entries) => entries.every(([version, key]) => /^\d{1,5}$/.test(version ?? '') && Buffer.from(key ?? '', 'base64').length === keyBytes),
    'must be a list of version:key, each key 32 bytes in base64',
  )
  .transform((entries) => new Map(entries.map(([version, key]) => [Number(version), Buffer.from(key as string, 'base64')])));

export const encryptionSettings = { ENCRYPTION_KEYS: encryptionKeys };

/** Encryption at rest. The context (which row, which column) must be the same on the way out. */
export interface Cipher {
  encrypt(clear: string, context: string): string;
  decrypt(sealed: string, context: string): string;
}

export function createCipher(keys: ReadonlyMap<number, Buffer>): Cipher {
  const newest = Math.max(...keys.keys());
  return {
    encrypt(clear, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keyOf(keys, newest), nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(clear, 'utf8'), cipher.final()]);
      return `${newest}:${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`;
    },
    decrypt(sealed, context) {
      const [version, text] = sealed.split(':');
      const bytes = Buffer.from(text ?? '', 'base64');
      const decipher = createDecipheriv(algorithm, keyOf(keys, Number(version)), bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    },
  };
}

function keyOf(keys: ReadonlyMap<number, Buffer>, version: number): Buffer {
  const key = keys.get(version);
  if (!key) throw new Error(`ENCRYPTION_KEYS has no version ${version}`);
  return key;
}
