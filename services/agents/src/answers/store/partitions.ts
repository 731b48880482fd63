import type { Sql, Store } from '@agent-service/store';

/** The partitions of messages, one a month. */
export interface Partitions {
  /** Resolves when the months around this instant have theirs. Costs nothing once they are known. */
  ensure(now: number): Promise<void>;
}

/** Months counted from year 0. */
const monthOf = (time: number): number => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth();
const startOf = (month: number): string => new Date(Date.UTC(Math.floor(month / 12), month % 12, 1)).toISOString();

export function createPartitions(store: Store): Partitions {
  const known = new Set<number>();
  async function make(month: number): Promise<void> {
    if (known.has(month)) return;
    await store.transaction(({ sql }) => makePartition(sql, month));
    known.add(month);
  }
  return {
    async ensure(now) {
      const month = monthOf(now);
      // The month before as well: in its successor's first moments there are answers that were asked for in it.
      for (const each of [month - 1, month, month + 1]) await make(each);
    },
  };
}

/** Attached and not created in place, because that would wait for every writer and hold them all off meanwhile. */
async function makePartition(sql: Sql, month: number): Promise<void> {
  const name = `messages_${startOf(month).slice(0, 7).replace('-', '_')}`;
  await sql('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${name} partition`]);
  const [existing] = await sql("select 1 from pg_inherits where inhparent = 'messages'::regclass and inhrelid = to_regclass($1)", [name]);
  if (existing) return;
  await sql(`create table ${name} (like messages including all)`);
  await sql(`alter table messages attach partition ${name} for values from ('${startOf(month)}') to ('${startOf(month + 1)}')`);
}
