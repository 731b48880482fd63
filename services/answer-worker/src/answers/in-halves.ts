import { ServiceError } from '@agent-service/contracts';

/** The other side is away or too slow: asking in smaller pieces would only ask it more often. */
const ofAll: readonly unknown[] = ['unavailable', 'deadline_exceeded'];

/**
 * Makes a call for many items, and where the call as a whole is refused, for its halves: so that what is too large for one
 * call, or is refused for one item's sake, spoils no others. One outcome an item, in order.
 */
export async function inHalves<Item, Result>(
  items: readonly Item[],
  call: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
): Promise<(Result | Error)[]> {
  try {
    const results = await call(items);
    if (results.length !== items.length) throw new Error(`a call for ${items.length} items brought ${results.length} results`);
    return [...results];
  } catch (cause) {
    const error = ServiceError.from(cause);
    if (items.length <= 1 || ofAll.includes(error.code)) return items.map(() => error);
    const middle = Math.ceil(items.length / 2);
    return [...(await inHalves(items.slice(0, middle), call)), ...(await inHalves(items.slice(middle), call))];
  }
}
