import { createMonthPartitions, type Partitions, type Store } from '@agent-service/store';

/** The month before as well: in its successor's first moments there are answers that were asked for in it. */
export const createPartitions = (store: Store): Partitions => createMonthPartitions(store, 'messages', { before: 1, after: 1 });
