import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { setting } from '@agent-service/runtime';
import { z } from 'zod';

const keyBytes = 32;
const isKey = (key: string) => /^[A-Za-z0-9+/_-]+={0,2}$/.test(key) && Buffer.from(key, 'base64').length === keyBytes;

/** `1:<base64 of 32 bytes>,2:…`; the highest version seals new values. */
export const versionedKeys = z
  .string()
  .transform((value) => value.split(',').map((entry) => entry.trim().split(':')))
  .refine(
    (entries) => entries.every(([version = '', key = '', ...more]) => /^\d{1,5}$/.test(version) && isKey(key) && more.length === 0),
    'must be a list of version:key, each key 32 bytes in base64',
  )
  .refine((entries) => new Set(entries.map(([version]) => Number(version))).size === entries.length, 'must have each version once')
  .transform((entries) => new Map(entries.map(([version, key]) => [Number(version), Buffer.from(key as string, 'base64')])));

/** Settings of every service that stores sealed values. */
export const encryptionSettings = {
  ENCRYPTION_KEYS: versionedKeys.describe(
    'The keys that encrypt stored secrets: `1:<base64 of 32 bytes>,2:…`; see [encryption keys](../encryption-keys.md).',
  ),
  ENCRYPTION_KEY_AHEAD_SECONDS: setting
    .integer(600, 0, 86_400)
    .describe('How long a process opens values with a new key before it seals with it, so that every replica has the key by then.'),
};

export interface EncryptionConfig {
  readonly ENCRYPTION_KEYS: ReadonlyMap<number, Buffer>;
  readonly ENCRYPTION_KEY_AHEAD_SECONDS: number;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Encryption at rest. The context (the row and the column) must be the same when a value is opened. */
export interface Cipher {
  encrypt(clear: string, context: string): string;
  /** The error of a value that does not open names the setting and the key's version, and nothing else. */
  decrypt(sealed: string, context: string): string;
}

/** Every key opens; `sealing` returns the version that seals now, by default the newest. */
export function createCipher(keys: ReadonlyMap<number, Buffer>, sealing: () => number = () => Math.max(...keys.keys())): Cipher {
  return {
    encrypt(clear, context) {
      const version = sealing();
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keyOf(keys, String(version)), nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(clear, 'utf8'), cipher.final()]);
      return `${version}:${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`;
    },
    decrypt(sealed, context) {
      const [version = '', text = ''] = sealed.split(':');
      const key = keyOf(keys, version);
      try {
        return open(key, Buffer.from(text, 'base64'), context);
      } catch (cause) {
        throw new Error(`version ${version} of ENCRYPTION_KEYS is not the key that this was sealed under, or it was changed`, { cause });
      }
    },
  };
}

function open(key: Buffer, sealed: Buffer, context: string): string {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
}

function keyOf(keys: ReadonlyMap<number, Buffer>, version: string): Buffer {
  // The stored text may not be a sealed value, so the error repeats it only if it is a version.
  if (!/^\d{1,5}$/.test(version)) throw new Error('what is stored was not sealed under any of ENCRYPTION_KEYS');
  const key = keys.get(Number(version));
  if (!key) throw new Error(`ENCRYPTION_KEYS has no version ${version}`);
  return key;
}

interface KeyVersions {
  /** Versions for which this process has keys. */
  readonly configured: readonly number[];
  /** Versions under which values are stored. */
  readonly stored: readonly number[];
  /** True if every replica has had time to receive the keys that this one has. */
  readonly isSettled: boolean;
}

/**
 * Returns the version to seal under: the newest, or for a while the one in use if no value is sealed under the newest yet. A replica
 * without the new key could not open such values.
 */
export function sealingVersion({ configured, stored, isSettled }: KeyVersions): number {
  const newest = Math.max(...configured);
  const known = stored.filter((version) => configured.includes(version));
  return isSettled || known.length === 0 || known.includes(newest) ? newest : Math.max(...known);
}
