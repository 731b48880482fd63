import type { Sql, Store } from '@agent-service/store';
import { type Month, monthLabel, monthOf, startOfMonth } from '../domain/month.ts';

/** The partitions of usage_records, one a month. */
export interface Partitions {
  /** Resolves when the month of this instant and the next one have theirs. Costs nothing once they are known. */
  ensure(now: number): Promise<void>;
}

export function createPartitions(store: Store): Partitions {
  const known = new Set<Month>();
  async function make(month: Month): Promise<void> {
    if (known.has(month)) return;
    await store.transaction(({ sql }) => makePartition(sql, month));
    known.add(month);
  }
  return {
    async ensure(now) {
      const month = monthOf(now);
      // The next one as well: by its turn every process has it, whatever their clocks say.
      if (known.has(month + 1) && known.has(month)) return;
      await make(month);
      await make(month + 1);
    },
  };
}

/** Attached and not created in place, because that would wait for every writer and hold them all off meanwhile. */
async function makePartition(sql: Sql, month: Month): Promise<void> {
  const name = `usage_records_${monthLabel(month).replace('-', '_')}`;
  await sql('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${name} partition`]);
  const [existing] = await sql('select 1 from pg_inherits where inhparent = $1::regclass and inhrelid = to_regclass($2)', [
    'usage_records',
    name,
  ]);
  if (existing) return;
  await sql(`create table ${name} (like usage_records including all)`);
  const [from, until] = [month, month + 1].map((bound) => new Date(startOfMonth(bound)).toISOString());
  await sql(`alter table usage_records attach partition ${name} for values from ('${from}') to ('${until}')`);
}
