import { createPublicKey, type KeyObject } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { type Cipher, type Sql, type Store, startSweep } from '@agent-service/store';
import type { Claims } from '../domain/claims.ts';
import { createActiveKeys, keysInLine, verifies } from './active-keys.ts';
import { keyIdOf, signClaims, type Verdict, verifyToken } from './jwt.ts';
import { makeKey, youngKey } from './make-key.ts';

const checkEveryMs = 3_600_000;

const published = `select kid, modulus, exponent from ${keysInLine} where ${verifies} order by kid desc`;

interface PublicKeyRow {
  kid: string;
  modulus: string;
  exponent: string;
}

export interface PublicKey {
  kid: string;
  n: string;
  e: string;
}

export interface SigningKeys {
  sign(claims: Claims): Promise<string>;
  /** One verdict for each token, in order. */
  verifyAll(tokens: readonly string[]): Promise<Verdict[]>;
  publicKeys(): Promise<PublicKey[]>;
  /** Publishes a new key, which signs a little later, and answers with its kid. */
  rotate(): Promise<string>;
  readonly issuer: string;
}

interface Options {
  issuer: string;
  rotateAfterDays: number;
  /** How long a key is published before it signs, so that whoever keeps a copy of the published keys has it by then. */
  publishedAheadSeconds: number;
}

/** The keys that tokens are signed with. They live encrypted in the database; whoever signs asks there which is active. */
export async function openSigningKeys(
  process: ProcessContext,
  store: Store,
  cipher: Cipher,
  { issuer, rotateAfterDays, publishedAheadSeconds }: Options,
): Promise<SigningKeys> {
  const activeKeys = createActiveKeys(cipher);
  const publicKeys = new Map<string, KeyObject>();

  /** Looks once for all keys that are not known yet: forged key ids must not cost a query each. */
  async function verifyAll(tokens: readonly string[]): Promise<Verdict[]> {
    const kids = tokens.map(keyIdOf);
    if (kids.some((kid) => kid !== undefined && !publicKeys.has(kid))) await loadPublicKeys();
    return tokens.map((token, index) => verifyToken(token, issuer, publicKeys.get(kids[index] ?? '')));
  }

  async function loadPublicKeys(): Promise<PublicKey[]> {
    const rows = await store.sql<PublicKeyRow>(published);
    const keys = rows.map((row) => ({ kid: row.kid, n: row.modulus, e: row.exponent }));
    publicKeys.clear();
    for (const { kid, n, e } of keys) publicKeys.set(kid, createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' }));
    return keys;
  }

  const rotate = (days = 0) => makeKey(store, cipher, { publishedAheadSeconds, unless: (sql) => youngKey(sql, days) });

  /** Tokens must be signed although the key that signs can not be opened: another takes over at once, there is nobody to wait for. */
  async function check(): Promise<void> {
    await rotate(rotateAfterDays);
    const found = await activeKeys.newest(store.sql);
    if (!found?.cause) return;
    process.logger.error({ event: 'signing_key_unopened', setting: 'ENCRYPTION_KEYS', kid: found.kid, err: found.cause });
    const unless = async (sql: Sql) => {
      const newest = await activeKeys.newest(sql);
      return newest?.cause ? undefined : newest?.kid;
    };
    await makeKey(store, cipher, { publishedAheadSeconds: 0, unless });
  }

  await check();
  startSweep(process, 'signing keys', checkEveryMs, () => check().then(() => 0));

  return {
    issuer,
    rotate: () => rotate(),
    publicKeys: loadPublicKeys,
    verifyAll,
    async sign(claims) {
      const { kid, key } = await activeKeys.first(store.sql);
      return signClaims(claims, kid, key);
    },
  };
}
