import type { Sql } from './sql.ts';
import type { Store } from './store.ts';

/** The partitions of a table by time, one a month. */
export interface Partitions {
  /** Resolves when the months around this instant have theirs. Costs nothing once they are known. */
  ensure(now: number): Promise<void>;
}

/** Which months besides that of the instant have to be there, in months from it. */
export interface Around {
  readonly before: number;
  /** At least one: by its turn every process has it, whatever their clocks say. */
  readonly after: number;
}

export function createMonthPartitions(store: Store, table: string, { before, after }: Around): Partitions {
  const known = new Set<number>();
  async function make(month: number): Promise<void> {
    if (known.has(month)) return;
    await store.transaction(({ sql }) => makePartition(sql, table, month));
    known.add(month);
  }
  return {
    async ensure(now) {
      const month = monthOf(now);
      for (let each = month - before; each <= month + after; each += 1) if (!known.has(each)) await make(each);
    },
  };
}

/** Months counted from year 0. */
const monthOf = (time: number): number => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth();
const startOf = (month: number): string => new Date(Date.UTC(Math.floor(month / 12), month % 12, 1)).toISOString();

/** Attached and not created in place, because that would wait for every writer and hold them all off meanwhile. */
async function makePartition(sql: Sql, table: string, month: number): Promise<void> {
  const name = `${table}_${startOf(month).slice(0, 7).replace('-', '_')}`;
  await sql('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${name} partition`]);
  const [existing] = await sql('select 1 from pg_inherits where inhparent = $1::regclass and inhrelid = to_regclass($2)', [table, name]);
  if (existing) return;
  await sql(`create table ${name} (like ${table} including all)`);
  await sql(`alter table ${table} attach partition ${name} for values from ('${startOf(month)}') to ('${startOf(month + 1)}')`);
}
