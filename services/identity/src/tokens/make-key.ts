import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { Cipher, Sql, Store } from '@agent-service/store';
import { ulid } from 'ulid';
import { keyContext } from './sealed-keys.ts';

const modulusBits = 2_048;

export interface NewKey {
  /** How long it is published before it signs, so that whoever keeps a copy of the published keys has it by then. */
  readonly publishedAheadSeconds: number;
  /** The key that makes another one unnecessary, if there is one. */
  readonly unless: (sql: Sql) => Promise<string | undefined>;
}

/** Makes a signing key where one is needed, once for all replicas that find so; answers with its kid, or that of the other. */
export async function makeKey(store: Store, cipher: Cipher, { publishedAheadSeconds, unless }: NewKey): Promise<string> {
  const other = await unless(store.sql);
  if (other) return other;
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  const { n, e } = publicKey.export({ format: 'jwk' });
  const kid = ulid().toLowerCase();
  const sealed = cipher.encrypt(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), keyContext(kid));
  return store.transaction(async ({ sql }) => {
    await sql("select pg_advisory_xact_lock(hashtextextended('signing keys', 0))");
    // Another replica may have made one while this one made its own.
    const made = await unless(sql);
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

/** The newest key that signs already, unless it is this one or was there before it. */
export async function successorOf(sql: Sql, kid: string): Promise<string | undefined> {
  const [row] = await sql<{ kid: string }>(
    `select key.kid from signing_keys as key join signing_keys as ended on ended.kid = $1 and (key.activates_at, key.kid) > (ended.activates_at, ended.kid)
     where key.revoked_at is null and key.activates_at <= now() order by key.activates_at desc, key.kid desc limit 1`,
    [kid],
  );
  return row?.kid;
}

/** The newest key, if it is younger than so many days or has yet to sign. */
export async function youngKey(sql: Sql, days: number): Promise<string | undefined> {
  const [row] = await sql<{ kid: string }>(
    `select kid from signing_keys where revoked_at is null and (created_at > now() - make_interval(days => $1) or activates_at > now())
     order by activates_at desc, kid desc limit 1`,
    [days],
  );
  return row?.kid;
}
