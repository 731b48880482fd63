import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Encryption at rest. The context (which row, which column) must be the same on the way out. */
export interface Cipher {
  encrypt(clear: string, context: string): string;
  /** The failure of what does not open names the setting and the key's version, and nothing else. */
  decrypt(sealed: string, context: string): string;
}

/** Every key opens; `sealing` says at each time which one seals: the newest, unless given. */
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
  // What is stored may not be ours: only what is a version is repeated.
  if (!/^\d{1,5}$/.test(version)) throw new Error('what is stored was not sealed under any of ENCRYPTION_KEYS');
  const key = keys.get(Number(version));
  if (!key) throw new Error(`ENCRYPTION_KEYS has no version ${version}`);
  return key;
}
