import { randomUUID } from 'node:crypto';
import { type Client, isErrorCode, judgeCall, ServiceError, withCall } from '@agent-service/contracts';
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

/** Hands messages to agents, many of a tenant in one call. Answers with what was accepted, or throws what was refused. */
export function createStarts(agents: Agents): (item: StartItem) => Promise<StartedAnswer> {
  const send = async (items: StartItem[]): Promise<(StartedAnswer | Error)[]> => {
    // A batch is nobody's request in particular: callers, keys and traces travel in its items.
    const context = { requestId: randomUUID(), expiresAt: performance.now() + limitMs };
    const { results } = await withCall(context, () => agents.startAnswer({ items }));
    return results.map(outcome);
  };
  const batcher = createBatcher<StartItem, StartedAnswer>({
    run: send,
    maxItems,
    concurrency,
    judge: judgeCall,
    sizeOf: ({ message, contextJson }) => message.length + contextJson.length,
    maxSize: maxCharacters,
    tenants: { of: tenantOf, lanes: 'each' },
  });
  return (item) => batcher.add(item).catch((cause: unknown) => Promise.reject(ServiceError.from(cause)));
}

const tenantOf = ({ principal }: StartItem) => ({
  organizationId: principal?.organizationId ?? '',
  environment: principal?.environment ?? '',
});

function outcome({ started, refusal }: Result): StartedAnswer | Error {
  if (started) return started;
  const code = refusal?.code;
  if (!refusal || !isErrorCode(code)) return new ServiceError('internal', { cause: new Error(`agents refused a message with ${code}`) });
  const [required, available] = [Number(refusal.required), Number(refusal.available)];
  return new ServiceError(code, { details: code === 'credits_exhausted' || code === 'user_limit_reached' ? { required, available } : {} });
}
