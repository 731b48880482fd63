import { ServiceError } from '@agent-service/contracts';
import type { Refusal } from '../hold.ts';

/** Runs every item by itself, in order: one that fails does not fail the others. */
export function runEach<Item, Outcome>(
  items: readonly Item[],
  run: (item: Item) => Promise<Outcome>,
): Promise<(Outcome | Pick<Refusal, 'code'>)[]> {
  return Promise.all(
    items.map(async (item) => {
      try {
        return await run(item);
      } catch (cause) {
        return { code: ServiceError.from(cause).code };
      }
    }),
  );
}

export const refusalMessage = ({ code, required, available }: Refusal) => ({ code, required: required ?? 0, available: available ?? 0 });
