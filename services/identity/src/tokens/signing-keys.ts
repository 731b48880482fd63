import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { ProcessContext } from '@agent-service/runtime';
import { type Cipher, type Sql, type Store, startSweep } from '@agent-service/store';
import { ulid } from 'ulid';
import type { Claims } from '../domain/claims.ts';
import { keyIdOf, signClaims, type Verdict, verifyToken } from './jwt.ts';

const modulusBits = 2_048;
const checkEveryMs = 3_600_000;
/** A key that has been followed by another verifies for as long as a token signed with it can live, and a little longer. */
const verifiesForDays = 2;

const active = 'select kid, private_key from signing_keys where activates_at <= now() order by activates_at desc, kid desc limit 1';
const published = `
  select kid, modulus, exponent
  from (select *, lead(activates_at) over (order by activates_at, kid) as followed_at from signing_keys) as key
  where followed_at is null or followed_at > now() - interval '${verifiesForDays} days'
  order by kid desc`;

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
  const privateKeys = new Map<string, KeyObject>();
  const publicKeys = new Map<string, KeyObject>();

  async function activeKey(): Promise<{ kid: string; key: KeyObject }> {
    const [row] = await store.sql<SigningKeyRow>(active);
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
    const rows = await store.sql<SigningKeyRow>(published);
    const keys = rows.map((row) => ({ kid: row.kid, n: row.modulus, e: row.exponent }));
    publicKeys.clear();
    for (const { kid, n, e } of keys) publicKeys.set(kid, createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' }));
    return keys;
  }

  const rotate = () => rotateKey(store, cipher, 0, publishedAheadSeconds);
  await rotateKey(store, cipher, rotateAfterDays, publishedAheadSeconds);
  startSweep(process, 'signing keys', checkEveryMs, async () => {
    await rotateKey(store, cipher, rotateAfterDays, publishedAheadSeconds);
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

/** Makes a new key unless the newest is younger than so many days or has yet to sign; answers with the newest one's kid. */
async function rotateKey(store: Store, cipher: Cipher, afterDays: number, publishedAheadSeconds: number): Promise<string> {
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
    // The very first key has nobody to wait for.
    await sql(
      `insert into signing_keys (kid, modulus, exponent, private_key, activates_at)
       select $1, $2, $3, $4, now() + case when exists (select 1 from signing_keys) then make_interval(secs => $5) else interval '0' end`,
      [kid, n, e, sealed, publishedAheadSeconds],
    );
    return kid;
  });
}

async function youngKey(sql: Sql, afterDays: number): Promise<string | undefined> {
  const [row] = await sql<{ kid: string }>(
    `select kid from signing_keys where created_at > now() - make_interval(days => $1) or activates_at > now()
     order by activates_at desc, kid desc limit 1`,
    [afterDays],
  );
  return row?.kid;
}
