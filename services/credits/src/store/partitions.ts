import { createMonthPartitions, type Partitions, type Store } from '@agent-service/store';

const tables = ['usage_records', 'transfers'];

/** A tenant's time never runs backwards, so nothing is recorded in a month that is past. */
export function createPartitions(store: Store): Pick<Partitions, 'ensure'> {
  const all = tables.map((table) => createMonthPartitions(store, table, { before: 0, after: 1 }));
  return {
    async ensure(now) {
      for (const partitions of all) await partitions.ensure(now);
    },
  };
}
