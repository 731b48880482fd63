import { setting } from '@agent-service/runtime';
import { z } from 'zod';

const keyBytes = 32;
const isKey = (key: string) => /^[A-Za-z0-9+/_-]+={0,2}$/.test(key) && Buffer.from(key, 'base64').length === keyBytes;

/** `1:<base64 of 32 bytes>,2:…`; the highest version is the one to use for what is new. */
export const versionedKeys = z
  .string()
  .transform((value) => value.split(',').map((entry) => entry.trim().split(':')))
  .refine(
    (entries) => entries.every(([version = '', key = '', ...more]) => /^\d{1,5}$/.test(version) && isKey(key) && more.length === 0),
    'must be a list of version:key, each key 32 bytes in base64',
  )
  .refine((entries) => new Set(entries.map(([version]) => Number(version))).size === entries.length, 'must have each version once')
  .transform((entries) => new Map(entries.map(([version, key]) => [Number(version), Buffer.from(key as string, 'base64')])));

/** Settings of every service that keeps sealed values. */
export const encryptionSettings = {
  ENCRYPTION_KEYS: versionedKeys,
  /** How long a process only opens with a new key before it seals with it, so that by then every replica has the key. */
  ENCRYPTION_KEY_AHEAD_SECONDS: setting.integer(600, 0, 86_400),
};

export interface EncryptionConfig {
  readonly ENCRYPTION_KEYS: ReadonlyMap<number, Buffer>;
  readonly ENCRYPTION_KEY_AHEAD_SECONDS: number;
}
