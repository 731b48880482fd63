import type { Logger } from '@agent-service/runtime';
import { classifyDatabaseFailure, type Sql, type Store } from '@agent-service/store';

export type RemovalLogger = Pick<Logger, 'warn'>;

interface Removal<Due> {
  /** Locks the first item that is due. */
  find(sql: Sql): Promise<Due | undefined>;
  /** Removes a bounded part of the item; returns how much it did, at least 1. */
  remove(sql: Sql, due: Due): Promise<number>;
  /** Puts it behind the others. */
  postpone(sql: Sql, due: Due): Promise<unknown>;
}

/**
 * Removes a bounded part of the first item that is due; returns 0 where none is. An item with a locked row, for example by an administrator's
 * session, is postponed, so that the others do not wait for it.
 */
export async function removeFirstDue<Due extends object>(
  store: Pick<Store, 'sql' | 'transaction'>,
  logger: RemovalLogger,
  { find, remove, postpone }: Removal<Due>,
): Promise<number> {
  let due: Due | undefined;
  try {
    return await store.transaction(async ({ sql }) => {
      due = await find(sql);
      return due ? await remove(sql, due) : 0;
    });
  } catch (cause) {
    if (!due || classifyDatabaseFailure(cause) !== 'slow') throw cause;
    logger.warn({ event: 'removal_postponed', ...due, err: cause });
    await postpone(store.sql, due);
    return 1;
  }
}
