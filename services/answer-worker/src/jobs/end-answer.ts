import { ServiceError } from '@agent-service/contracts';
import type { AttemptKey } from '../answers/answers-api.ts';
import { mayPass, persist } from '../answers/persist.ts';
import type { WorkerContext } from '../context.ts';
import { countable } from '../domain/content.ts';
import type { Held } from '../hand/hand.ts';
import type { Asked } from './ask-model.ts';
import type { Stop } from './stop.ts';

/** A result is worth keeping this long past its deadline: agents may have been away for all that time. */
const graceMs = 30_000;
/** And this long once the process stops. */
const lastTriesMs = 1_500;

/** How an answer's life ended here. */
export type Outcome =
  | { readonly kind: 'completed' | 'returned' | 'unwanted' | 'lost' }
  | { readonly kind: 'failed'; readonly error: ServiceError }
  /** Another attempt or an end from elsewhere came first. */
  | { readonly kind: 'superseded'; readonly error: ServiceError }
  /** Nobody has heard the end; agents finds out by the lease. */
  | { readonly kind: 'unheard'; readonly error: ServiceError };

export interface Ending {
  readonly held: Held;
  readonly deadlineMs: number;
  readonly asked: Asked;
  readonly stop: Stop;
}

/** Tells agents how an answer ended. */
export async function endAnswer(context: WorkerContext, { held, deadlineMs, asked, stop }: Ending): Promise<Outcome> {
  const tell = tellerOf(context, deadlineMs, stop);
  switch (asked.kind) {
    case 'answer':
      return complete(context, tell, held.key, asked);
    case 'failure':
      return fail(context, tell, held.key, asked.error);
    case 'interrupted':
      return asked.why === 'stopping' ? handBack(context, held.key) : { kind: asked.why };
  }
}

type Tell = (call: 'complete' | 'fail', work: () => Promise<void>) => Promise<ServiceError | undefined>;

function tellerOf({ meters, now }: WorkerContext, deadlineMs: number, stop: Stop): Tell {
  const persistence = { now, endsAt: () => Math.min(deadlineMs + graceMs, stop.at + lastTriesMs) };
  return async (call, work) => {
    try {
      await persist(work, { ...persistence, onAgain: () => meters.askedAgain.inc({ call }) });
      return undefined;
    } catch (cause) {
      return ServiceError.from(cause);
    }
  };
}

type Answered = Extract<Asked, { kind: 'answer' }>;

async function complete(
  context: WorkerContext,
  tell: Tell,
  answer: AttemptKey,
  { answer: result, contentType, queries }: Answered,
): Promise<Outcome> {
  const item = {
    answer,
    content: result.content,
    contentType,
    inputTokens: countable(result.inputTokens),
    outputTokens: countable(result.outputTokens),
    queries: queries.map((query) => ({ ...query, tables: [...query.tables] })),
  };
  const error = await tell('complete', () => context.answers.complete(item));
  if (error === undefined) return { kind: 'completed' };
  if (isOver(error)) return { kind: 'superseded', error };
  if (mayPass(error)) return { kind: 'unheard', error };
  // A result that agents will never take would be computed again and again until the deadline.
  return fail(context, tell, answer, new ServiceError('internal', { cause: error }));
}

async function fail({ answers }: WorkerContext, tell: Tell, answer: AttemptKey, failure: ServiceError): Promise<Outcome> {
  const error = await tell('fail', () => answers.fail({ answer, failure: { code: failure.code, message: failure.message } }));
  if (error === undefined) return { kind: 'failed', error: failure };
  return { kind: isOver(error) ? 'superseded' : 'unheard', error };
}

async function handBack({ answers }: WorkerContext, key: AttemptKey): Promise<Outcome> {
  try {
    await answers.handBack(key);
    return { kind: 'returned' };
  } catch (cause) {
    return { kind: 'unheard', error: ServiceError.from(cause) };
  }
}

/** Agents does not need to hear of this attempt any more. */
const isOver = ({ code }: ServiceError) =>
  ['attempt_superseded', 'not_found', 'answer_cancelled', 'agent_deleted', 'answer_timeout'].includes(code);
