import { LRUCache } from 'lru-cache';
import type { Sql } from './sql.ts';
import type { Store } from './store.ts';

/** The partitions of a table by time, one for each month. */
export interface Partitions {
  /** Creates the partitions of the months around this time. Once they exist they are looked up in the background, each once a minute. */
  ensure(now: number): Promise<void>;
  /** Creates the partition of this month alone, for writes that must not depend on whether a later one can be created now. */
  ensureCurrent(now: number): Promise<void>;
  /**
   * Drops the partitions that ended longer ago than this, each in a transaction with a short lock timeout, and returns their names. The
   * database's clock decides as well, so a process whose clock is ahead drops nothing early.
   */
  drop(now: number, retentionMs: number): Promise<string[]>;
}

/** The months before and after the present one that need a partition. */
interface Around {
  readonly before: number;
  /** At least one, so that the next month's partition exists before any process's clock reaches it. */
  readonly after: number;
  /** In percent; below 100 leaves room in each page for rows that are updated. */
  readonly fillfactor?: number;
}

/** A standby that is promoted may lack a partition that the lost primary had made, so what a process has found is looked up again. */
const knownForMs = 60_000;
const maxKnownMonths = 100;

export function createMonthPartitions(
  store: Store,
  table: string,
  { before, after, fillfactor = 100 }: Around,
  elapsed = () => performance.now(),
): Partitions {
  /** One look-up for all callers. They wait for the first one only, and for the one after a failure, so that a lost connection holds up none. */
  const known = new LRUCache<number, true>({
    max: maxKnownMonths,
    ttl: knownForMs,
    ttlResolution: 0,
    perf: { now: elapsed },
    fetchMethod: make,
    allowStale: true,
  });
  async function make(month: number): Promise<true> {
    // Without the lock, which a process may hold that was frozen: as a rule the partition exists, and a start must not wait for it.
    if (!(await exists(store.sql, table, month))) await store.transaction(({ sql }) => makePartition(sql, table, month, fillfactor));
    return true;
  }
  return {
    async ensure(now) {
      const month = monthOf(now);
      for (let each = month - before; each <= month + after; each += 1) await known.fetch(each);
    },
    async ensureCurrent(now) {
      await known.fetch(monthOf(now));
    },
    async drop(now, retentionMs) {
      const old = await endedBefore(store.sql, table, now, retentionMs);
      for (const name of old) await store.transaction(({ sql }) => dropPartition(sql, name));
      return old;
    },
  };
}

/** Months counted from year 0. */
export const monthOf = (time: number): number => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth();
/** The beginning of a month, as text. */
export const startOfMonth = (month: number): string => new Date(Date.UTC(Math.floor(month / 12), month % 12, 1)).toISOString();

const bound = 'pg_get_expr(child.relpartbound, child.oid)';
const children = `pg_inherits join pg_class child on child.oid = inhrelid where inhparent = $1::regclass`;
/** The exclusive end of a partition. */
const end = `substring(${bound} from 'TO \\(''([^'']+)''\\)')::timestamptz`;

const nameOf = (table: string, month: number): string => `${table}_${startOfMonth(month).slice(0, 7).replace('-', '_')}`;

/**
 * A table that was partitioned later has a first partition with all older rows. Bounds are only read where no partition has the name, because
 * PostgreSQL locks each partition to read its bound.
 */
async function exists(sql: Sql, table: string, month: number): Promise<boolean> {
  const rows = await sql(
    `select 1 where case
       when exists (select 1 from pg_inherits where inhparent = $1::regclass and inhrelid = to_regclass($2)) then true
       else exists (select 1 from ${children} and ${bound} like 'FOR VALUES FROM (MINVALUE)%' and ${end} > $3::timestamptz) end`,
    [table, nameOf(table, month), startOfMonth(month)],
  );
  return rows.length > 0;
}

/** Creates the table first and attaches it, because `create table ... partition of` would block all writers while it waits for them. */
async function makePartition(sql: Sql, table: string, month: number, fillfactor: number): Promise<void> {
  const name = nameOf(table, month);
  await sql('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${name} partition`]);
  if (await exists(sql, table, month)) return;
  await sql(`create table ${name} (like ${table} including all) with (fillfactor = ${fillfactor})`);
  await sql(`alter table ${table} attach partition ${name} for values from ('${startOfMonth(month)}') to ('${startOfMonth(month + 1)}')`);
}

async function endedBefore(sql: Sql, table: string, now: number, retentionMs: number): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    `select inhrelid::regclass::text as name from ${children}
       and ${end} <= least($2::timestamptz, now()) - $3::float8 * interval '1 millisecond' order by 1`,
    [table, new Date(now).toISOString(), retentionMs],
  );
  return rows.map(({ name }) => name);
}

/** The lock timeout is short, because every session that uses the table waits behind this lock. */
async function dropPartition(sql: Sql, name: string): Promise<void> {
  await sql(`set local lock_timeout = '500ms'`);
  await sql(`drop table if exists ${name}`);
}
