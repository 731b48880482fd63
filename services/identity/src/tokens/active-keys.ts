import { createPrivateKey, type KeyObject } from 'node:crypto';
import { ServiceError } from '@agent-service/contracts';
import type { Cipher, Sql } from '@agent-service/store';
import { keyContext } from './sealed-keys.ts';

/** A key that has been followed by another verifies for as long as a token signed with it can live, and a little longer. */
const verifiesForDays = 2;
const signsForDays = 1;

const notFollowedFor = (days: number) => `(followed_at is null or followed_at > now() - interval '${days} days')`;

/** All keys that were not revoked, with the time from which another has taken over. */
export const keysInLine =
  '(select *, lead(activates_at) over (order by activates_at, kid) as followed_at from signing_keys where revoked_at is null) as key';
export const verifies = notFollowedFor(verifiesForDays);

// One takes over from the next when that does not open here, for as long as all that it signs is verified.
const active = `
  select kid, private_key from ${keysInLine}
  where activates_at <= now() and ${notFollowedFor(signsForDays)} order by activates_at desc, kid desc`;

interface PrivateKeyRow {
  kid: string;
  private_key: string;
}

export interface ActiveKeys {
  /** The newest one that opens. */
  first(sql: Sql): Promise<{ kid: string; key: KeyObject }>;
  /** The kid of the one that all others sign with, and why it does not open here, if so. */
  newest(sql: Sql): Promise<{ kid: string; cause?: unknown } | undefined>;
}

/** The private keys, opened once and kept: what signs a token is looked up for each. */
export function createActiveKeys(cipher: Cipher): ActiveKeys {
  const opened = new Map<string, KeyObject>();

  function open({ kid, private_key: sealed }: PrivateKeyRow): KeyObject {
    const key = opened.get(kid) ?? createPrivateKey(cipher.decrypt(sealed, keyContext(kid)));
    opened.set(kid, key);
    return key;
  }

  function attempt(row: PrivateKeyRow): { kid: string; key?: KeyObject; cause?: unknown } {
    try {
      return { kid: row.kid, key: open(row) };
    } catch (cause) {
      return { kid: row.kid, cause };
    }
  }

  return {
    async first(sql) {
      let cause: unknown = new Error('there is no active signing key');
      for (const row of await sql<PrivateKeyRow>(active)) {
        const { kid, key, cause: failure } = attempt(row);
        if (key) return { kid, key };
        cause = failure;
      }
      throw new ServiceError('unavailable', { cause });
    },
    async newest(sql) {
      const [row] = await sql<PrivateKeyRow>(active);
      return row && attempt(row);
    },
  };
}
