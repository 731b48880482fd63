import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { ProcessContext } from '@agent-service/runtime';
import { type Cipher, type Sql, type Store, startSweep } from '@agent-service/store';
import { ulid } from 'ulid';
import type { Claims } from '../domain/claims.ts';
import { keyIdOf, signClaims, type Verdict, verifyToken } from './jwt.ts';

const modulusBits = 2_048;
const checkEveryMs = 3_600_000;
/** A retired key verifies for as long as a token signed with it can live, and a little longer. */
const verifiesForDays = 2;

interface SigningKeyRow {
  kid: string;
  modulus: string;
  exponent: string;
  private_key: string;
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
  /** Signs from now on with a new key and answers with its kid. */
  rotate(): Promise<string>;
  readonly issuer: string;
}

interface Options {
  issuer: string;
  rotateAfterDays: number;
}

/** The keys that tokens are signed with. They live encrypted in the database; whoever signs asks there which is active. */
export async function openSigningKeys(
  process: ProcessContext,
  store: Store,
  cipher: Cipher,
  { issuer, rotateAfterDays }: Options,
): Promise<SigningKeys> {
  const privateKeys = new Map<string, KeyObject>();
  const publicKeys = new Map<string, KeyObject>();

  async function activeKey(): Promise<{ kid: string; key: KeyObject }> {
    const [row] = await store.sql<SigningKeyRow>('select kid, private_key from signing_keys where retired_at is null');
    if (!row) throw new Error('there is no active signing key');
    const key = privateKeys.get(row.kid) ?? createPrivateKey(cipher.decrypt(row.private_key, keyContext(row.kid)));
    privateKeys.set(row.kid, key);
    return { kid: row.kid, key };
  }

  /** Looks once for all keys that are not known yet: forged key ids must not cost a query each. */
  async function verifyAll(tokens: readonly string[]): Promise<Verdict[]> {
    const kids = tokens.map(keyIdOf);
    if (kids.some((kid) => kid !== undefined && !publicKeys.has(kid))) await loadPublicKeys();
    return tokens.map((token, index) => verifyToken(token, issuer, publicKeys.get(kids[index] ?? '')));
  }

  async function loadPublicKeys(): Promise<PublicKey[]> {
    const rows = await store.sql<SigningKeyRow>(
      `select kid, modulus, exponent from signing_keys where retired_at is null or retired_at > now() - interval '${verifiesForDays} days' order by kid desc`,
    );
    const keys = rows.map((row) => ({ kid: row.kid, n: row.modulus, e: row.exponent }));
    publicKeys.clear();
    for (const { kid, n, e } of keys) publicKeys.set(kid, createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' }));
    return keys;
  }

  const rotate = () => rotateKey(store, cipher, 0);
  await rotateKey(store, cipher, rotateAfterDays);
  startSweep(process, 'signing keys', checkEveryMs, async () => {
    await rotateKey(store, cipher, rotateAfterDays);
    return 0;
  });

  return {
    issuer,
    rotate,
    publicKeys: loadPublicKeys,
    verifyAll,
    async sign(claims) {
      const { kid, key } = await activeKey();
      return signClaims(claims, kid, key);
    },
  };
}

const keyContext = (kid: string) => `signing_keys/${kid}/private_key`;

/** Makes a new key active unless the active one is younger than so many days; answers with the active one's kid. */
async function rotateKey(store: Store, cipher: Cipher, afterDays: number): Promise<string> {
  const young = await youngKey(store.sql, afterDays);
  if (young) return young;
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  const { n, e } = publicKey.export({ format: 'jwk' });
  const kid = ulid().toLowerCase();
  const sealed = cipher.encrypt(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), keyContext(kid));
  return store.transaction(async ({ sql }) => {
    await sql("select pg_advisory_xact_lock(hashtextextended('signing keys', 0))");
    // Another replica may have rotated while this one made its key.
    const made = await youngKey(sql, afterDays);
    if (made) return made;
    await sql('update signing_keys set retired_at = now() where retired_at is null');
    await sql('insert into signing_keys (kid, modulus, exponent, private_key) values ($1, $2, $3, $4)', [kid, n, e, sealed]);
    return kid;
  });
}

async function youngKey(sql: Sql, afterDays: number): Promise<string | undefined> {
  const [row] = await sql<{ kid: string }>(
    'select kid from signing_keys where retired_at is null and created_at > now() - make_interval(days => $1)',
    [afterDays],
  );
  return row?.kid;
}
