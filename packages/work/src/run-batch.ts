/** `done`: every item of the batch has its outcome. `halve`: run it again in two batches. `stop`: run no further batch. */
export type BatchOutcome = 'done' | 'halve' | 'stop';

/**
 * Runs a batch, and halves it where it fails, until each failing item is alone; `run` decides about an item that fails alone. `pending` are
 * the items that are to be run after this batch. Returns those that a stop left.
 */
export async function runBatch<Item>(
  items: readonly Item[],
  run: (batch: readonly Item[], pending: () => Item[]) => Promise<BatchOutcome>,
): Promise<Item[]> {
  // The next batch is the last one, so that items are run in their order.
  const batches: (readonly Item[])[] = items.length > 0 ? [items] : [];
  const pending = () => batches.toReversed().flat();
  for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
    const outcome = await run(batch, pending);
    if (outcome === 'stop') return pending();
    const middle = Math.ceil(batch.length / 2);
    if (outcome === 'halve' && batch.length > 1) batches.push(batch.slice(middle), batch.slice(0, middle));
  }
  return [];
}
