import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { type Cipher, type Sql, type Store, sealedColumn, startSweep } from '@agent-service/store';
import { ulid } from 'ulid';
import type { Claims } from '../domain/tokens.ts';
import {
  addSigningKey,
  findActiveKeys,
  findNewerKey,
  findPublishedKeys,
  findPublishedKeysById,
  findYoungKey,
  hasSigningKey,
  lockSigningKeys,
  type PrivateKeyRow,
  type PublicKeyRow,
} from '../store/signing-keys.ts';
import { keyIdOf, signClaims, type TokenVerdict, verifyToken } from './jwt.ts';

const modulusBits = 2_048;
const checkEveryMs = 3_600_000;

const sealContext = (kid: string): string => `signing_keys/${kid}/private_key`;

/** The column of the private keys, which the cipher seals again after a rotation of its own keys. */
export const sealedPrivateKeys = sealedColumn({
  table: 'signing_keys',
  column: 'private_key',
  key: ['kid'],
  contextOf: ({ kid = '' }) => sealContext(kid),
});

interface PublishedKey {
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

export interface SigningKeys {
  sign(claims: Claims): Promise<string>;
  /** One verdict for each token, in order. */
  verifyAll(tokens: readonly string[]): Promise<TokenVerdict[]>;
  publicKeys(): Promise<PublishedKey[]>;
  exists(kid: string): Promise<boolean>;
  /** Publishes a new key, which signs a little later; resolves to its kid. */
  rotate(): Promise<string>;
  /** Ensures that a newer key than this one signs; resolves to its kid. */
  replace(kid: string): Promise<string>;
  readonly issuer: string;
}

interface Options {
  readonly issuer: string;
  readonly rotateAfterDays: number;
  /** A key is published this long before it signs, so that every copy of the published keys has it by then. */
  readonly publishedAheadSeconds: number;
}

/** The keys that sign tokens. They are encrypted in the database, which is asked for the active key at each signature. */
export async function openSigningKeys(process: ProcessContext, store: Store, cipher: Cipher, options: Options): Promise<SigningKeys> {
  const { issuer, rotateAfterDays, publishedAheadSeconds } = options;
  const publicKeys = new Map<string, KeyObject>();
  const privateKeys = createPrivateKeys(cipher);

  /** Reads the keys for each batch, in one statement whatever the tokens claim, so that a revoked key verifies nothing after its commit. */
  async function verifyAll(tokens: readonly string[]): Promise<TokenVerdict[]> {
    const kids = tokens.map(keyIdOf);
    const claimed = [...new Set(kids)].filter((kid) => kid !== undefined);
    const rows = claimed.length === 0 ? [] : await findPublishedKeysById(store.sql, claimed);
    const keys = new Map(rows.map((row) => [row.kid, importKey(row)]));
    return tokens.map((token, index) => verifyToken(token, issuer, keys.get(kids[index] ?? '')));
  }

  function importKey({ kid, modulus: n, exponent: e }: PublicKeyRow): KeyObject {
    const key = publicKeys.get(kid) ?? createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
    publicKeys.set(kid, key);
    return key;
  }

  const rotate = (days = 0) => makeKey(store, cipher, { publishedAheadSeconds, findExisting: (sql) => findYoungKey(sql, days) });

  /** Rotates old keys. Where the newest key cannot be decrypted, a new one replaces it at once, so that tokens can be signed. */
  async function checkKeys(): Promise<void> {
    await rotate(rotateAfterDays);
    const newest = await privateKeys.newest(store.sql);
    if (!newest?.cause) return;
    process.logger.error({ event: 'signing_key_unopened', setting: 'ENCRYPTION_KEYS', kid: newest.kid, err: newest.cause });
    const findExisting = async (sql: Sql) => {
      const other = await privateKeys.newest(sql);
      return other?.cause ? undefined : other?.kid;
    };
    await makeKey(store, cipher, { publishedAheadSeconds: 0, findExisting });
  }

  await checkKeys();
  startSweep(process, 'signing keys', checkEveryMs, () => checkKeys().then(() => 0));

  return {
    issuer,
    verifyAll,
    rotate: () => rotate(),
    // It signs at once: the other key has leaked, and copies of the published keys are at most a minute old.
    replace: (kid) => makeKey(store, cipher, { publishedAheadSeconds: 0, findExisting: (sql) => findNewerKey(sql, kid) }),
    publicKeys: async () => (await findPublishedKeys(store.sql)).map(({ kid, modulus, exponent }) => ({ kid, n: modulus, e: exponent })),
    exists: (kid) => hasSigningKey(store.sql, kid),
    async sign(claims) {
      const { kid, key } = await privateKeys.active(store.sql);
      return await signClaims(claims, kid, key);
    },
  };
}

interface PrivateKeys {
  /** The newest key that can be decrypted here. */
  active(sql: Sql): Promise<{ kid: string; key: KeyObject }>;
  /** The newest key, with the cause if it cannot be decrypted here. */
  newest(sql: Sql): Promise<{ kid: string; cause?: unknown } | undefined>;
}

/** Decrypts each private key once. */
function createPrivateKeys(cipher: Cipher): PrivateKeys {
  const decrypted = new Map<string, KeyObject>();

  function decrypt({ kid, privateKey }: PrivateKeyRow): { kid: string; key?: KeyObject; cause?: unknown } {
    try {
      const key = decrypted.get(kid) ?? createPrivateKey(cipher.decrypt(privateKey, sealContext(kid)));
      decrypted.set(kid, key);
      return { kid, key };
    } catch (cause) {
      return { kid, cause };
    }
  }

  return {
    async active(sql) {
      let failure: unknown = new Error('there is no active signing key');
      for (const row of await findActiveKeys(sql)) {
        const { kid, key, cause } = decrypt(row);
        if (key) return { kid, key };
        failure = cause;
      }
      throw new ServiceError('unavailable', { cause: failure });
    },
    async newest(sql) {
      const [row] = await findActiveKeys(sql);
      return row && decrypt(row);
    },
  };
}

interface KeyToMake {
  readonly publishedAheadSeconds: number;
  /** The kid of a key that makes a new one unnecessary. */
  readonly findExisting: (sql: Sql) => Promise<string | undefined>;
}

/** Makes a signing key unless there is one already, once for all replicas; resolves to the kid of the new or the existing key. */
async function makeKey(store: Store, cipher: Cipher, { publishedAheadSeconds, findExisting }: KeyToMake): Promise<string> {
  const existing = await findExisting(store.sql);
  if (existing) return existing;
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  const { n: modulus = '', e: exponent = '' } = publicKey.export({ format: 'jwk' });
  const kid = ulid().toLowerCase();
  const sealed = cipher.encrypt(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), sealContext(kid));
  return store.transaction(async ({ sql }) => {
    await lockSigningKeys(sql);
    // Another replica may have made one in the meantime.
    const madeByOther = await findExisting(sql);
    if (madeByOther) return madeByOther;
    await addSigningKey(sql, { kid, modulus, exponent, privateKey: sealed }, publishedAheadSeconds);
    return kid;
  });
}
