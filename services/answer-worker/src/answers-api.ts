import { type Client, classifyCallFailure, isErrorCode, ServiceError } from '@agent-service/contracts';
import { createBackoff, createBatcher, retry } from '@agent-service/work';

type Agents = Client<'agents'>;
type Request<Method extends keyof Agents> = Agents[Method] extends (request: infer Input, ...rest: never[]) => unknown ? Input : never;
type ItemOf<Method extends keyof Agents> = Request<Method> extends { items?: (infer Item)[] } ? Item : never;

export interface AnswerKey {
  readonly organizationId: string;
  readonly environment: string;
  readonly answerId: string;
}

/** One attempt of this worker at an answer. */
export interface AttemptKey {
  readonly answer: AnswerKey;
  readonly attempt: number;
}

export type BegunAnswer = NonNullable<Awaited<ReturnType<Agents['beginAnswer']>>['results'][number]['begun']>;
type Completion = End<'completeAnswer'>;
type Failure = End<'failAnswer'>;
/** An item of the call with the key of its attempt, which the contract names `answer`. */
type End<Method extends 'completeAnswer' | 'failAnswer'> = Omit<ItemOf<Method>, 'answer'> & AttemptOf;

interface AttemptOf {
  readonly key: AttemptKey;
}

/** How an answer that runs apart is isolated: `alone` has a process for itself; `shared` shares one with other answers that have lost one lease. */
export type Isolation = 'alone' | 'shared';

/** The calls to `agents` about answers. A refused call rejects with the code of the refusal. */
export interface AnswersApi {
  /** A second call with the same claim returns the same attempt. Without `isolation` the answer does not run apart. */
  begin(answer: AnswerKey, claim: string, isolation?: Isolation): Promise<BegunAnswer>;
  complete(item: Completion): Promise<void>;
  fail(item: Failure): Promise<void>;
  /** Returns an attempt that this process cannot finish. */
  returnAttempt(key: AttemptKey): Promise<void>;
  /** Reports that the process of these attempts has died. */
  reportDeath(keys: readonly AttemptKey[]): Promise<void>;
  /** The replicas of agents that this worker can wait at. */
  replicas(): readonly string[];
  /** Waits at a replica for answers that it begins for this worker. */
  wait(replica: string, offer: Offer): Promise<readonly AssignedAnswer[]>;
  /** Renews leases; returns the attempts that have lost theirs. */
  renew(keys: readonly AttemptKey[]): Promise<readonly AttemptKey[]>;
}

/** The free capacity that this worker offers to a replica, and the answers that it confirms. */
export type Offer = Omit<Request<'waitForAnswers'>, 'workerChannel'>;

/** An answer that was begun for this worker. */
export interface AssignedAnswer {
  readonly answer: AnswerKey;
  readonly attempt: BegunAnswer;
}

/** A begun attempt has its prompt, scope and history: usually a few kB, up to about 1.6 MB. */
const maxBeginsPerCall = 32;
const maxEndsPerCall = 100;
const maxReturnsPerCall = 1_000;
const callsAtOnce = 1;
const renewTimeoutMs = 3_000;
const returnTimeoutMs = 1_500;
/** Longer than a replica keeps a call waiting. With a shorter limit a replica could assign an answer to a call that this worker has given up. */
const waitTimeoutMs = 15_000;

interface AnswersApiOptions {
  /** The channel of notices to this worker. */
  readonly workerChannel: string;
}

export function createAnswersApi(agents: Agents, { workerChannel }: AnswersApiOptions): AnswersApi {
  const begins = batched<ItemOf<'beginAnswer'> & { answer: AnswerKey }, BegunAnswer>(maxBeginsPerCall, ofAnswer, async (items) => {
    const { results } = await agents.beginAnswer({ items: [...items], workerChannel });
    return results.map(({ begun, refusal }) => begun ?? refused(refusal));
  });
  const completes = batched<Completion, void>(maxEndsPerCall, ofAttempt, async (items) => {
    const { results } = await agents.completeAnswer({ items: items.map(endItem) });
    return results.map(({ refusal }) => (refusal ? refused(refusal) : undefined));
  });
  const fails = batched<Failure, void>(maxEndsPerCall, ofAttempt, async (items) => {
    const { results } = await agents.failAnswer({ items: items.map(endItem) });
    return results.map(({ refusal }) => (refusal ? refused(refusal) : undefined));
  });
  const returns = batched<AttemptKey, void>(maxReturnsPerCall, ofAnswer, async (keys) => {
    await agents.returnAnswers({ answers: [...keys] }, { timeoutMs: returnTimeoutMs });
    return keys.map(() => undefined);
  });
  return {
    begin: (answer, claim, isolation) => begins.add({ answer, claim, apart: isolation === 'alone', shared: isolation === 'shared' }),
    complete: (item) => completes.add(item),
    fail: (item) => fails.add(item),
    returnAttempt: (key) => returns.add(key),
    async reportDeath(keys) {
      await agents.returnAnswers({ answers: [...keys], processDied: true }, { timeoutMs: returnTimeoutMs });
    },
    replicas: () => agents.replicas(),
    async wait(replica, offer) {
      const { answers } = await agents.waitForAnswers({ ...offer, workerChannel }, { timeoutMs: waitTimeoutMs, waitAt: replica });
      return answers.flatMap(({ answer, begun }) => (answer && begun ? [{ answer, attempt: begun }] : []));
    },
    async renew(keys) {
      const { lost } = await agents.renewLeases({ answers: [...keys] }, { timeoutMs: renewTimeoutMs });
      return lost.flatMap(({ answer, attempt }) => (answer ? [{ answer, attempt }] : []));
    },
  };
}

const ofAnswer = ({ answer }: { answer: AnswerKey }) => answer;
const ofAttempt = ({ key }: AttemptOf) => key.answer;
const endItem = <Item extends AttemptOf>({ key, ...item }: Item) => ({ ...item, answer: key });

/** A call carries the items of one tenant, so that a slow tenant delays no other. */
function batched<Item, Result>(
  maxItems: number,
  of: (item: Item) => AnswerKey,
  run: (items: readonly Item[]) => Promise<(Result | Error)[]>,
) {
  return createBatcher<Item, Result>({
    run,
    maxItems,
    concurrency: callsAtOnce,
    classify: classifyCallFailure,
    tenants: { of, lanes: 'each' },
  });
}

function refused(refusal: { code: string } | null | undefined): ServiceError {
  const code = refusal?.code;
  if (isErrorCode(code)) return new ServiceError(code);
  return new ServiceError('internal', { cause: new Error(`agents refused with the unknown code ${JSON.stringify(code)}`) });
}

const serverFault = 500;
const tooManyRequests = 429;

/** True when the call may succeed later, because agents or its database is unavailable, slow or overloaded; not for an outcome of the answer. */
export const isTemporary = ({ definition: { http, type } }: ServiceError): boolean =>
  (http >= serverFault && type !== 'provider') || http === tooManyRequests;

/** Pauses that grow to between half a second and a second. */
const pauseAfter = createBackoff({ firstMs: 25, maxMs: 500, jitter: 1 });

interface RetryOptions {
  readonly now: () => number;
  /** Read before each retry, because a process that stops has less time. */
  readonly endsAt: () => number;
  readonly onRetry: () => void;
}

/** Repeats a call until it succeeds or is refused for good. Throws that refusal, or the last failure when the time is up. */
export const retryCall = <Result>(call: () => Promise<Result>, { now, endsAt, onRetry }: RetryOptions): Promise<Result> =>
  retry(call, {
    pauseAfter(failures, cause) {
      const pauseMs = pauseAfter(failures);
      return isTemporary(ServiceError.from(cause)) && now() + pauseMs <= endsAt() ? pauseMs : undefined;
    },
    onRetry,
  });
