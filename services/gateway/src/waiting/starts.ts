import { randomUUID } from 'node:crypto';
import { type Client, isErrorCode, ServiceError, withCall } from '@agent-service/contracts';
import { createBatcher } from '@agent-service/runtime';

type Agents = Client<'agents'>;
export type StartItem = NonNullable<Parameters<Agents['startAnswer']>[0]['items']>[number] & { message: string; contextJson: string };
type Result = Awaited<ReturnType<Agents['startAnswer']>>['results'][number];
export type StartedAnswer = NonNullable<Result['started']>;

const maxItems = 200;
const concurrency = 4;
const limitMs = 5_000;
/** A call carries 8 MB, and a character takes up to three bytes; the rest is for what else an item has. */
const maxCharacters = 2_000_000;

/** Hands messages to agents, many in one call. Answers with what was accepted, or throws what was refused. */
export function createStarts(agents: Agents): (item: StartItem) => Promise<StartedAnswer> {
  const send = async (items: StartItem[]): Promise<(StartedAnswer | Error)[]> => {
    // A batch is nobody's request in particular: callers, keys and traces travel in its items.
    const context = { requestId: randomUUID(), expiresAt: performance.now() + limitMs };
    try {
      const { results } = await withCall(context, () => agents.startAnswer({ items }));
      return results.map(outcome);
    } catch (cause) {
      return items.map(() => ServiceError.from(cause));
    }
  };
  const batcher = createBatcher<StartItem, StartedAnswer>({
    maxItems,
    concurrency,
    run: async (items) => (await Promise.all(inParts(items).map(send))).flat(),
  });
  return (item) => batcher.add(item);
}

/** Parts that fit into one call each. */
export function inParts(items: readonly StartItem[]): StartItem[][] {
  const parts: StartItem[][] = [];
  let room = 0;
  for (const item of items) {
    const size = item.message.length + item.contextJson.length;
    const part = parts.at(-1);
    if (part && size <= room) part.push(item);
    else {
      parts.push([item]);
      room = maxCharacters;
    }
    room -= size;
  }
  return parts;
}

function outcome({ started, refusal }: Result): StartedAnswer | Error {
  if (started) return started;
  const code = refusal?.code;
  if (!refusal || !isErrorCode(code)) return new ServiceError('internal', { cause: new Error(`agents refused a message with ${code}`) });
  const [required, available] = [Number(refusal.required), Number(refusal.available)];
  return new ServiceError(code, { details: code === 'credits_exhausted' || code === 'user_limit_reached' ? { required, available } : {} });
}
