import { processClock } from '@agent-service/runtime';
import { classifyDatabaseFailure, type Store } from '@agent-service/store';
import { runBatch } from '@agent-service/work';

/** More credentials than are used between two flushes. The uses of further credentials are not recorded until the next flush. */
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
  /**
   * Writes some of the recorded uses; resolves to how many, or to 0 once those of before the last pause are written. Those that cannot be
   * written now, as with a locked row of one tenant, are kept until after the next pause.
   */
  flush(): Promise<number>;
}

export function createCredentialUses(store: Store): CredentialUses {
  let recorded = new Map<string, Use>();
  /** Uses to write before the next pause. Uses that are recorded during the writes follow after it, so that the writes have an end. */
  let due = new Map<string, Use>();

  async function write(uses: readonly [string, Use][]): Promise<void> {
    await store.sql(recordUses, [
      uses.map(([id]) => id),
      uses.map(([, { organizationId }]) => organizationId),
      uses.map(([, { usedAt }]) => new Date(usedAt).toISOString()),
    ]);
  }

  function keep(uses: readonly [string, Use][]): void {
    for (const [id, use] of uses) if (recorded.size < maxRecorded && !recorded.has(id)) recorded.set(id, use);
  }

  return {
    record({ credentialId, organizationId }) {
      // The time of the use, not of the write: a write after the end of the credential would report a use that was refused.
      if (recorded.size < maxRecorded) recorded.set(credentialId, { organizationId, usedAt: processClock.now() });
    },
    async flush() {
      if (due.size === 0) [due, recorded] = [recorded, due];
      const uses = [...due.entries().take(maxWritten)];
      for (const [id] of uses) due.delete(id);
      let written = 0;
      await runBatch(uses, async (batch, pending) => {
        try {
          await write(batch);
          written += batch.length;
          return 'done';
        } catch (cause) {
          const isSlow = classifyDatabaseFailure(cause) === 'slow';
          if (isSlow && batch.length > 1) return 'halve';
          keep(batch);
          if (isSlow) return 'done';
          keep(pending());
          throw cause;
        }
      });
      return due.size > 0 ? written : 0;
    },
  };
}

// Sorted, so that two replicas lock the rows in one order; a row is written at most twice a minute.
export const recordUses = `
  insert into credential_uses (credential_id, organization_id, last_used_at)
  select id, organization_id, used_at from unnest($1::text[], $2::text[], $3::timestamptz[]) as used (id, organization_id, used_at) order by id
  on conflict (credential_id) do update set last_used_at = excluded.last_used_at
  where credential_uses.last_used_at < excluded.last_used_at - interval '30 seconds'`;
