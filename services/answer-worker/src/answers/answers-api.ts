import { type Client, isErrorCode, judgeCall, ServiceError } from '@agent-service/contracts';
import { createBatcher } from '@agent-service/work';

type Agents = Client<'agents'>;
type Request<Method extends keyof Agents> = Agents[Method] extends (request: infer Given, ...rest: never[]) => unknown ? Given : never;
type ItemOf<Method extends keyof Agents> = Request<Method> extends { items?: (infer Item)[] } ? Item : never;

export interface AnswerKey {
  readonly organizationId: string;
  readonly environment: string;
  readonly answerId: string;
}

/** An answer as this worker took it up. */
export interface AttemptKey {
  readonly answer: AnswerKey;
  readonly attempt: number;
}

export type BegunAnswer = NonNullable<Awaited<ReturnType<Agents['beginAnswer']>>['results'][number]['begun']>;
export type Completion = ItemOf<'completeAnswer'> & AttemptOf;
export type Failing = ItemOf<'failAnswer'> & AttemptOf;

interface AttemptOf {
  answer: AttemptKey;
}

/** Which answers run in a process: one and no other, or only such as have lost one lease. */
export type Company = 'alone' | 'shared';

/** The answers in the hands of `agents`, as a worker sees them. Whatever is refused rejects with the refusal's code. */
export interface AnswersApi {
  /** Asking again with the same claim is no second attempt. Without `company` the process runs answers of any kind. */
  begin(answer: AnswerKey, claim: string, company?: Company): Promise<BegunAnswer>;
  complete(item: Completion): Promise<void>;
  fail(item: Failing): Promise<void>;
  handBack(key: AttemptKey): Promise<void>;
  /** The process that ran these attempts has died. */
  reportDeath(keys: readonly AttemptKey[]): Promise<void>;
  /** Those that are another's or nobody's by now. */
  renew(keys: readonly AttemptKey[]): Promise<readonly AttemptKey[]>;
}

/** A begun answer may be as large as its prompt and history, about 800 kB; mostly it is a few. */
const beginsACall = 32;
const endsACall = 100;
const returnsACall = 1_000;
const callsAtOnce = 1;
const renewTimeoutMs = 3_000;
const handBackTimeoutMs = 1_500;

export interface Taking {
  /** Where notices to this worker are heard. */
  readonly workerChannel: string;
}

export function createAnswersApi(agents: Agents, { workerChannel }: Taking): AnswersApi {
  const begins = batched<ItemOf<'beginAnswer'> & { answer: AnswerKey }, BegunAnswer>(beginsACall, ofAnswer, async (items) => {
    const { results } = await agents.beginAnswer({ items: [...items], workerChannel });
    return results.map(({ begun, refusal }) => begun ?? refused(refusal));
  });
  const completes = batched<Completion, void>(endsACall, ofAttempt, async (items) => {
    const { results } = await agents.completeAnswer({ items: [...items] });
    return results.map(({ refusal }) => (refusal ? refused(refusal) : undefined));
  });
  const fails = batched<Failing, void>(endsACall, ofAttempt, async (items) => {
    const { results } = await agents.failAnswer({ items: [...items] });
    return results.map(({ refusal }) => (refusal ? refused(refusal) : undefined));
  });
  const returns = batched<AttemptKey, void>(returnsACall, ofAnswer, async (keys) => {
    await agents.returnAnswers({ answers: [...keys] }, { timeoutMs: handBackTimeoutMs });
    return keys.map(() => undefined);
  });
  return {
    begin: (answer, claim, company) => begins.add({ answer, claim, apart: company === 'alone', shared: company === 'shared' }),
    complete: (item) => completes.add(item),
    fail: (item) => fails.add(item),
    handBack: (key) => returns.add(key),
    async reportDeath(keys) {
      await agents.returnAnswers({ answers: [...keys], processDied: true }, { timeoutMs: handBackTimeoutMs });
    },
    async renew(keys) {
      const { lost } = await agents.renewLeases({ answers: [...keys] }, { timeoutMs: renewTimeoutMs });
      return lost.flatMap(({ answer, attempt }) => (answer ? [{ answer, attempt }] : []));
    },
  };
}

const ofAnswer = ({ answer }: { answer: AnswerKey }) => answer;
const ofAttempt = ({ answer }: AttemptOf) => answer.answer;

/** A call carries one tenant's items, so that a tenant that agents is slow for keeps no other waiting. */
function batched<Item, Result>(
  maxItems: number,
  of: (item: Item) => AnswerKey,
  run: (items: readonly Item[]) => Promise<(Result | Error)[]>,
) {
  return createBatcher<Item, Result>({ run, maxItems, concurrency: callsAtOnce, judge: judgeCall, tenants: { of, lanes: 'each' } });
}

function refused(refusal: { code: string } | null | undefined): ServiceError {
  const code = refusal?.code;
  if (isErrorCode(code)) return new ServiceError(code);
  return new ServiceError('internal', { cause: new Error(`agents refused with the unknown code ${JSON.stringify(code)}`) });
}
