import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { ServiceError } from '@agent-service/contracts';
import { type ProcessContext, processClock } from '@agent-service/runtime';
import { type Cipher, type Sql, type Store, sealedColumn, startSweep, writeAudit } from '@agent-service/store';
import jwt from 'jsonwebtoken';
import { ulid } from 'ulid';
import { serviceChain } from '../domain/audit-chain.ts';
import { type Claims, readClaims, toSigned } from '../domain/tokens.ts';
import {
  addSigningKey,
  findActiveKeys,
  findKeysById,
  findNewerKey,
  findPublishedKeys,
  findYoungKey,
  forgetPrivateKeys,
  hasSigningKey,
  lockSigningKeys,
  type PrivateKeyRow,
  type PublicKeyRow,
  type VerificationKeyRow,
} from '../store/signing-keys.ts';

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
  /** Publishes a new key, which signs a little later. A new key is in the audit log. */
  rotate(author: Author): Promise<CurrentKey>;
  /** Ensures that a newer key than this one signs; resolves to its kid. A new key is in the audit log. */
  replace(kid: string, author: Author): Promise<string>;
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

  /** Reads the keys for each batch in one statement, so that a revoked key verifies no token after the commit of its revocation. */
  async function verifyAll(tokens: readonly string[]): Promise<TokenVerdict[]> {
    const kids = tokens.map(keyIdsOf);
    const claimed = [...new Set(kids.flatMap(({ own, parent }) => [own, parent]))].filter((kid) => kid !== undefined);
    const rows = claimed.length === 0 ? [] : await findKeysById(store.sql, claimed);
    const keys = new Map(rows.map((row) => [row.kid, { ...row, key: importKey(row) }]));
    return tokens.map((token, index) => {
      const verdict = verifyToken(token, issuer, keys.get(kids[index]?.own ?? ''));
      const parent = 'claims' in verdict ? verdict.claims.parent_kid : undefined;
      const isOrphan = parent !== undefined && !keys.get(parent)?.isPublished;
      return isOrphan ? { refusal: 'token_revoked' } : verdict;
    });
  }

  function importKey({ kid, modulus: n, exponent: e }: PublicKeyRow): KeyObject {
    const key = publicKeys.get(kid) ?? createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
    publicKeys.set(kid, key);
    return key;
  }

  const rotate = (author: Author, days = 0) =>
    makeKey(store, cipher, { author, publishedAheadSeconds, findExisting: (sql) => findYoungKey(sql, days) });

  /** Rotates old keys, and removes the private ones of keys that are not needed any more. Where the newest key cannot be decrypted, a new one replaces it at once, so that tokens can be signed. */
  async function checkKeys(): Promise<void> {
    await rotate(ownRotation, rotateAfterDays);
    await forgetPrivateKeys(store.sql);
    const newest = await privateKeys.newest(store.sql);
    if (!newest?.cause) return;
    process.logger.error({ event: 'signing_key_unopened', setting: 'ENCRYPTION_KEYS', kid: newest.kid, err: newest.cause });
    const findExisting = async (sql: Sql) => {
      const other = await privateKeys.newest(sql);
      return other?.cause ? undefined : other?.kid;
    };
    await makeKey(store, cipher, { author: ownRotation, publishedAheadSeconds: 0, findExisting });
  }

  await checkKeys();
  startSweep(process, 'signing keys', checkEveryMs, () => checkKeys().then(() => 0));

  return {
    issuer,
    verifyAll,
    rotate: (author) => rotate(author),
    async replace(formerKid, author) {
      const findExisting = (sql: Sql) => findNewerKey(sql, formerKid);
      // It signs at once: the other key has leaked, and copies of the published keys are at most a minute old.
      const { kid } = await makeKey(store, cipher, { author, publishedAheadSeconds: 0, findExisting });
      return kid;
    },
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

/** Who makes a key. */
type Author = Parameters<typeof writeAudit>[1];

/** The rotations that the service makes itself. */
const ownRotation: Author = { caller: { service: 'identity' }, requestId: '' };

interface CurrentKey {
  readonly kid: string;
  /** False if a key made a new one unnecessary. */
  readonly isNew: boolean;
}

export const rotationEntry = (kid: string) =>
  ({ action: 'signing_key.rotated', organizationId: serviceChain, environment: '', target: { type: 'signing_key', id: kid } }) as const;

interface KeyToMake {
  readonly author: Author;
  readonly publishedAheadSeconds: number;
  /** The kid of a key that makes a new one unnecessary. */
  readonly findExisting: (sql: Sql) => Promise<string | undefined>;
}

/** Makes a signing key unless there is one already, once for all replicas. The first key of an installation is no rotation. */
async function makeKey(store: Store, cipher: Cipher, { author, publishedAheadSeconds, findExisting }: KeyToMake): Promise<CurrentKey> {
  const existing = await findExisting(store.sql);
  if (existing) return { kid: existing, isNew: false };
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  const { n: modulus = '', e: exponent = '' } = publicKey.export({ format: 'jwk' });
  const kid = ulid().toLowerCase();
  const sealed = cipher.encrypt(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), sealContext(kid));
  return store.transaction(async ({ sql }) => {
    await lockSigningKeys(sql);
    // Another replica may have made one in the meantime.
    const otherKid = await findExisting(sql);
    if (otherKid) return { kid: otherKid, isNew: false };
    const hasFormer = await addSigningKey(sql, { kid, modulus, exponent, privateKey: sealed }, publishedAheadSeconds);
    if (hasFormer) await writeAudit(sql, author, rotationEntry(kid));
    return { kid, isNew: true };
  });
}

const algorithm = 'RS256';

export type TokenVerdict =
  | { readonly claims: Claims; readonly kid: string }
  | { readonly refusal: 'invalid_token' | 'token_expired' | 'token_revoked' };

const signBytes = promisify(sign);

/** Signs outside the main thread, because a signature takes as long as thirty verifications, which would have to wait. */
async function signClaims(claims: Claims, kid: string, key: KeyObject): Promise<string> {
  const encoded = [{ alg: algorithm, typ: 'JWT', kid }, toSigned(claims)].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const content = encoded.join('.');
  return `${content}.${(await signBytes('sha256', Buffer.from(content), key)).toString('base64url')}`;
}

interface VerificationKey extends Pick<VerificationKeyRow, 'kid' | 'isPublished'> {
  readonly key: KeyObject;
}

/** Accepts only our own algorithm, issuer, key and claims. A genuine token of a key that is not published any more was valid once. */
function verifyToken(token: string, issuer: string, signer: VerificationKey | undefined): TokenVerdict {
  if (!signer) return { refusal: 'invalid_token' };
  try {
    const clockTimestamp = processClock.now() / 1_000;
    const claims = readClaims(jwt.verify(token, signer.key, { algorithms: [algorithm], issuer, clockTimestamp }));
    if (!claims) return { refusal: 'invalid_token' };
    return signer.isPublished ? { claims, kid: signer.kid } : { refusal: 'token_revoked' };
  } catch (cause) {
    return { refusal: cause instanceof jwt.TokenExpiredError ? 'token_expired' : 'invalid_token' };
  }
}

/** The form of our key ids. A forged id of another form does not reach the database. */
const ownKeyId = /^[0-9a-z]{1,32}$/;

interface KeyIds {
  readonly own?: string | undefined;
  /** The key that signed the token with which an agent token was made. */
  readonly parent?: string | undefined;
}

/** The ids of keys that a token names, before it is verified; none for a token that cannot be ours. */
function keyIdsOf(token: string): KeyIds {
  try {
    const decoded = jwt.decode(token, { complete: true });
    const payload = decoded?.payload as Record<string, unknown> | undefined;
    return { own: ownKeyIdOf(decoded?.header.kid), parent: ownKeyIdOf(payload?.['parent_kid']) };
  } catch {
    // The text does not have the form of a token.
    return {};
  }
}

const ownKeyIdOf = (kid: unknown): string | undefined => (typeof kid === 'string' && ownKeyId.test(kid) ? kid : undefined);
