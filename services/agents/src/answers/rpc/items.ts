import { ServiceError } from '@agent-service/contracts';
import type { Refusal } from '../hold.ts';

const mostItems = 1_000;

export function checkItems(items: readonly unknown[]): void {
  if (items.length > mostItems)
    throw new ServiceError('invalid_request', { message: `At most ${mostItems} items in a call.`, param: 'items' });
}

/** Decides every item by itself and answers in their order: one that fails spoils no other. */
export function decideEach<Item, Outcome>(
  items: readonly Item[],
  decide: (item: Item) => Promise<Outcome>,
): Promise<(Outcome | Pick<Refusal, 'code'>)[]> {
  return Promise.all(
    items.map(async (item) => {
      try {
        return await decide(item);
      } catch (cause) {
        return { code: ServiceError.from(cause).code };
      }
    }),
  );
}

export const refusalMessage = ({ code, required, available }: Refusal) => ({ code, required: required ?? 0, available: available ?? 0 });
