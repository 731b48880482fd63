import { processClock } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';

/** More credentials than are used between two flushes; the time of further ones is left out once. */
const maxRecorded = 20_000;
const maxWritten = 1_000;

interface UsedCredential {
  readonly credentialId: string;
  readonly organizationId: string;
}

interface Use {
  readonly organizationId: string;
  /** Milliseconds since 1970. */
  readonly usedAt: number;
}

/** Remembers which credentials were used when, and writes that apart from authentication, which waits for no write. */
export interface CredentialUses {
  record(credential: UsedCredential): void;
  /** Writes some of the recorded uses; resolves to how many. */
  flush(): Promise<number>;
}

export function createCredentialUses(store: Store): CredentialUses {
  const recorded = new Map<string, Use>();
  return {
    record({ credentialId, organizationId }) {
      // The time of the write may be after the end of the credential, and would tell of a use that was refused.
      if (recorded.size < maxRecorded) recorded.set(credentialId, { organizationId, usedAt: processClock.now() });
    },
    async flush() {
      const uses = [...recorded.entries().take(maxWritten)];
      if (uses.length === 0) return 0;
      for (const [id] of uses) recorded.delete(id);
      await store.sql(recordUses, [
        uses.map(([id]) => id),
        uses.map(([, { organizationId }]) => organizationId),
        uses.map(([, { usedAt }]) => new Date(usedAt).toISOString()),
      ]);
      return uses.length;
    },
  };
}

// Sorted, so that two replicas lock the rows in one order; a row is written at most twice a minute.
export const recordUses = `
  insert into credential_uses (credential_id, organization_id, last_used_at)
  select id, organization_id, used_at from unnest($1::text[], $2::text[], $3::timestamptz[]) as used (id, organization_id, used_at) order by id
  on conflict (credential_id) do update set last_used_at = excluded.last_used_at
  where credential_uses.last_used_at < excluded.last_used_at - interval '30 seconds'`;
