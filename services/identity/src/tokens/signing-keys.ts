import { createPublicKey, type KeyObject } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { type Cipher, type Sql, type Store, startSweep } from '@agent-service/store';
import type { Claims } from '../domain/claims.ts';
import { createActiveKeys, keysInLine, verifies } from './active-keys.ts';
import { keyIdOf, signClaims, type Verdict, verifyToken } from './jwt.ts';
import { makeKey, successorOf, youngKey } from './make-key.ts';

const checkEveryMs = 3_600_000;

const published = `select kid, modulus, exponent from ${keysInLine} where ${verifies}`;
const wanted = `${published} and kid = any($1)`;
const all = `${published} order by kid desc`;

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
  /** Makes sure that a later key signs than this one, which is about to be revoked; answers with its kid. */
  succeed(kid: string): Promise<string>;
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
  const opened = new Map<string, KeyObject>();

  /** Asks for the keys each time, in one statement whatever the tokens claim, so that a revoked key verifies nothing from its commit on. */
  async function verifyAll(tokens: readonly string[]): Promise<Verdict[]> {
    const kids = tokens.map(keyIdOf);
    const claimed = [...new Set(kids)].filter((kid) => kid !== undefined);
    const rows = claimed.length === 0 ? [] : await store.sql<PublicKeyRow>(wanted, [claimed]);
    const keys = new Map(rows.map((row) => [row.kid, open(row)]));
    return tokens.map((token, index) => verifyToken(token, issuer, keys.get(kids[index] ?? '')));
  }

  function open({ kid, modulus: n, exponent: e }: PublicKeyRow): KeyObject {
    const key = opened.get(kid) ?? createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
    opened.set(kid, key);
    return key;
  }

  async function loadPublicKeys(): Promise<PublicKey[]> {
    const rows = await store.sql<PublicKeyRow>(all);
    return rows.map((row) => ({ kid: row.kid, n: row.modulus, e: row.exponent }));
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
    // Signs at once: what is revoked leaked, and copies of the published keys are a minute old at most.
    succeed: (kid) => makeKey(store, cipher, { publishedAheadSeconds: 0, unless: (sql) => successorOf(sql, kid) }),
    publicKeys: loadPublicKeys,
    verifyAll,
    async sign(claims) {
      const { kid, key } = await activeKeys.first(store.sql);
      return await signClaims(claims, kid, key);
    },
  };
}
