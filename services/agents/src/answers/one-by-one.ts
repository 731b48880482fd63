import { ServiceError } from '@agent-service/contracts';
import { onceMoreAfterDeadlock } from './deadlocks.ts';

/** Whether the failure is the database's absence and not one item's fault. */
export const isAway = (cause: unknown): boolean => cause instanceof ServiceError && cause.code === 'unavailable';

/**
 * All in one statement; where that fails for another reason than an absent database, each in one of its own, so that a poisonous
 * item spoils no other.
 */
export async function togetherOrAlone<Item, Row>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Row[]>,
  onFailure: (item: Item, cause: unknown) => void,
): Promise<Row[]> {
  try {
    return items.length === 0 ? [] : await onceMoreAfterDeadlock(() => run(items));
  } catch (cause) {
    if (isAway(cause)) throw cause;
    const rows: Row[] = [];
    for (const item of items) rows.push(...(await alone(item, run, onFailure)));
    return rows;
  }
}

async function alone<Item, Row>(
  item: Item,
  run: (items: readonly Item[]) => Promise<Row[]>,
  onFailure: (item: Item, cause: unknown) => void,
): Promise<Row[]> {
  try {
    return await run([item]);
  } catch (cause) {
    onFailure(item, cause);
    return [];
  }
}
