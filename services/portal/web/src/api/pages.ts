export interface ApiPage<Row> {
  data: Row[];
  meta: { next_cursor: string | null; total: number };
}

type ReadPage<Page> = (cursor: string | undefined) => Promise<Page>;

/** Reads page after page, until the list or the signal ends. */
export async function* readAll<Page extends ApiPage<unknown>>(read: ReadPage<Page>, signal?: AbortSignal): AsyncGenerator<Page> {
  let cursor: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await read(cursor);
    yield page;
    cursor = page.meta.next_cursor ?? undefined;
  } while (cursor);
}

/** The last page of a list, with the rows of all pages, or of as many as hold the first `most` rows. */
export async function readWhole<Page extends ApiPage<unknown>>(
  read: ReadPage<Page>,
  signal?: AbortSignal,
  most = Number.POSITIVE_INFINITY,
): Promise<Page> {
  const data: unknown[] = [];
  let last: Page | undefined;
  for await (const page of readAll(read, signal)) {
    last = page;
    data.push(...page.data);
    if (data.length >= most) break;
  }
  return { ...last, data } as Page;
}

const maxPasses = 3;

/**
 * Reads a list whose rows change places while it is read, as users by what they use: a row that moves to a page before is found by reading
 * again from the first page. Each row is yielded once. Fewer rows than the last total are yielded if some are not found in three passes.
 */
export async function* readMoving<Row>(
  read: ReadPage<ApiPage<Row>>,
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
