export interface ApiPage<Row> {
  data: Row[];
  meta: { next_cursor: string | null; total: number };
}

type ReadPage<Row> = (cursor: string | undefined) => Promise<ApiPage<Row>>;

/** Reads page after page, until the list or the signal ends. */
export async function* readAll<Row>(read: ReadPage<Row>, signal?: AbortSignal): AsyncGenerator<ApiPage<Row>> {
  let cursor: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await read(cursor);
    yield page;
    cursor = page.meta.next_cursor ?? undefined;
  } while (cursor);
}

const maxPasses = 3;

/**
 * Reads a list whose rows change places while it is read, as users by what they use: a row that moves to a page before is found by reading
 * again from the first page. Each row is yielded once. Fewer rows than the last total are yielded if some are not found in three passes.
 */
export async function* readMoving<Row>(
  read: ReadPage<Row>,
  idOf: (row: Row) => string,
  signal?: AbortSignal,
): AsyncGenerator<ApiPage<Row>> {
  const ids = new Set<string>();
  let total = Number.POSITIVE_INFINITY;
  for (let pass = 1; pass <= maxPasses && ids.size < total; pass += 1)
    for await (const { data, meta } of readAll(read, signal)) {
      const rows = data.filter((row) => !ids.has(idOf(row)));
      for (const row of rows) ids.add(idOf(row));
      total = meta.total;
      yield { data: rows, meta };
    }
}
