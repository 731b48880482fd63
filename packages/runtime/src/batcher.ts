/** Turns single calls into batches. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (cause: unknown) => void;
}

export interface BatcherOptions<Item, Result> {
  /** One outcome for each item, in order; an Error among them rejects that item alone. */
  run: (items: Item[]) => Promise<(Result | Error)[]>;
  maxItems: number;
  /** How many batches may be out at once. */
  concurrency?: number;
}

/**
 * Natural batching: the first item leaves at once, whatever comes while it is out makes the next batch. No timer,
 * so a lone call pays nothing; under load the batches grow by themselves.
 */
export function createBatcher<Item, Result>({ run, maxItems, concurrency = 1 }: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const queue: Waiting<Item, Result>[] = [];
  let out = 0;

  async function send(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map((entry) => entry.item));
      if (results.length !== batch.length) throw new Error(`a batch of ${batch.length} came back with ${results.length} results`);
      for (const [index, entry] of batch.entries()) settle(entry, results[index] as Result | Error);
    } catch (cause) {
      for (const entry of batch) entry.reject(cause);
    }
  }

  function pump(): void {
    while (out < concurrency && queue.length > 0) {
      out += 1;
      void send(queue.splice(0, maxItems)).finally(() => {
        out -= 1;
        pump();
      });
    }
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        // A microtask later, so that calls of the same turn leave together.
        if (queue.length === 1) queueMicrotask(pump);
      }),
  };
}

function settle<Item, Result>(entry: Waiting<Item, Result>, result: Result | Error): void {
  if (result instanceof Error) entry.reject(result);
  else entry.resolve(result);
}
