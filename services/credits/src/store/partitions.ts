import { createMonthPartitions, type Partitions, type Store } from '@agent-service/store';

/** A tenant's time never runs backwards, so nothing is recorded in a month that is past. */
export const createPartitions = (store: Store): Partitions => createMonthPartitions(store, 'usage_records', { before: 0, after: 1 });
