import type { Client } from './client.ts';
import type { PathOf, RequestArguments, ResponseBody } from './types.ts';

/** One page of a list. */
interface Page {
  readonly data: readonly unknown[];
  readonly meta: { readonly next_cursor: string | null };
}

/** The paths that answer with lists. */
export type ListPath = { [P in PathOf<'get'>]: ResponseBody<P, 'get'> extends Page ? P : never }[PathOf<'get'>];

type EntryOf<Body> = Body extends { data: readonly (infer Entry)[] } ? Entry : never;

/** As the client sees a list whose path is not known. */
type FetchPage = (path: string, options: object) => Promise<Page>;

/** Every page of a list, each fetched when it is needed. */
export async function* pages<P extends ListPath>(
  client: Client,
  path: P,
  ...[options]: RequestArguments<P, 'get'>
): AsyncGenerator<ResponseBody<P, 'get'>, void, undefined> {
  const { query } = (options ?? {}) as { query?: object };
  const fetchPage = client.get as unknown as FetchPage;
  let cursor: string | null = null;
  do {
    const page: Page = await fetchPage(path, { ...options, query: { ...query, ...(cursor !== null && { cursor }) } });
    yield page as ResponseBody<P, 'get'>;
    cursor = page.meta.next_cursor;
  } while (cursor !== null);
}

/** Every entry of a list, over all pages. Leaving the loop ends the fetching. */
export async function* entries<P extends ListPath>(
  client: Client,
  path: P,
  ...options: RequestArguments<P, 'get'>
): AsyncGenerator<EntryOf<ResponseBody<P, 'get'>>, void, undefined> {
  for await (const page of pages(client, path, ...options)) yield* (page as unknown as Page).data as EntryOf<ResponseBody<P, 'get'>>[];
}
