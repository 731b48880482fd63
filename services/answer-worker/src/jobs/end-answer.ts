import { ServiceError } from '@agent-service/contracts';
import { type AttemptKey, isTemporary, retryCall } from '../answers-api.ts';
import type { WorkerDeps } from '../deps.ts';
import { chartIn, StepLog } from '../tools/step-records.ts';
import { type ModelReply, toTokenCount } from './ask-model.ts';

/** A result is reported until this long after its deadline, because agents may have been unavailable before. */
const graceMs = 30_000;
/** Reports go on for this long after the process was told to stop. */
const stopGraceMs = 1_500;

/** When this process is to stop working on a job. */
export interface Stop {
  /** Milliseconds since 1970; infinite while the process is not stopping. */
  readonly at: number;
  /** Runs the work at once if the process is already stopping. */
  onStop(work: () => void): void;
}

export function createStop(signal: AbortSignal, now: () => number): Stop {
  let at = Number.POSITIVE_INFINITY;
  let onStop: (() => void) | undefined;
  const stop = () => {
    at = now();
    onStop?.();
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return {
    get at() {
      return at;
    },
    onStop(work) {
      onStop = work;
      if (signal.aborted) work();
    },
  };
}

/** How an attempt ended in this process. */
export type Outcome =
  | { readonly kind: 'completed' | 'returned' | 'unwanted' | 'lost' }
  | { readonly kind: 'failed'; readonly error: ServiceError }
  /** Agents had already ended the answer or begun another attempt. */
  | { readonly kind: 'superseded'; readonly error: ServiceError }
  /** The report failed; agents notices the end when the lease expires. */
  | { readonly kind: 'unreported'; readonly error: ServiceError };

interface AttemptEnd {
  readonly key: AttemptKey;
  readonly deadlineMs: number;
  readonly reply: ModelReply;
  /** The time that the model and its tools took. */
  readonly latencyMs: number;
  readonly stop: Stop;
}

/** Reports the end of an attempt to agents. */
export async function endAnswer(deps: WorkerDeps, { key, deadlineMs, reply, latencyMs, stop }: AttemptEnd): Promise<Outcome> {
  const report = reporterOf(deps, deadlineMs, stop);
  switch (reply.kind) {
    case 'answer':
      return complete(deps, report, completionOf(key, reply, latencyMs), reply);
    case 'failure':
      return fail(deps, report, key, reply);
    case 'interrupted':
      return reply.why === 'stopping' ? returnAttempt(deps, key) : { kind: reply.why };
  }
}

/** Returns the error of a report that agents has not accepted. */
type Report = (call: 'complete' | 'fail', work: () => Promise<void>) => Promise<ServiceError | undefined>;

function reporterOf({ meters, now }: WorkerDeps, deadlineMs: number, stop: Stop): Report {
  const endsAt = () => Math.min(deadlineMs + graceMs, stop.at + stopGraceMs);
  return async (call, work) => {
    try {
      await retryCall(work, { now, endsAt, onRetry: () => meters.callsRepeated.inc({ call }) });
      return undefined;
    } catch (cause) {
      return ServiceError.from(cause);
    }
  };
}

type Answered = Extract<ModelReply, { kind: 'answer' }>;

type Completion = Parameters<WorkerDeps['answers']['complete']>[0];

function completionOf(key: AttemptKey, { answer, contentType, log }: Answered, latencyMs: number): Completion {
  const { content, model, refused = false } = answer;
  const [inputTokens, outputTokens] = [toTokenCount(answer.inputTokens), toTokenCount(answer.outputTokens)];
  // A refusal is computed from no result, even if queries ran for it.
  const result = refused ? undefined : log.result;
  return {
    key,
    content,
    contentType,
    inputTokens,
    outputTokens,
    queries: [...log.queries],
    record: {
      usage: { model, inputTokens, outputTokens, latencyMs: Math.round(latencyMs) },
      resultJson: result ? JSON.stringify({ ...result, chart: chartIn(content) }) : '',
      steps: [...log.steps],
    },
    refused,
  };
}

async function complete(deps: WorkerDeps, report: Report, item: Completion, { failure, log }: Answered): Promise<Outcome> {
  const error = await report('complete', () => deps.answers.complete(item));
  if (error === undefined) return { kind: 'completed' };
  if (isOver(error)) return { kind: 'superseded', error };
  if (isTemporary(error)) return { kind: 'unreported', error };
  // Agents will never accept this result. Without a failure the answer would be repeated until its deadline.
  const failed = { error: failure(new ServiceError('internal', { cause: error })), log };
  const outcome = await fail(deps, report, item.key, failed);
  // The failure has the same log, and its steps may be the part that agents rejects.
  const isRejected = outcome.kind === 'unreported' && !isTemporary(outcome.error);
  return isRejected ? fail(deps, report, item.key, { ...failed, log: new StepLog() }) : outcome;
}

interface Failed {
  readonly error: ServiceError;
  readonly log: StepLog;
}

/** The steps before a failure are kept: they say what the answer failed at. */
async function fail({ answers }: WorkerDeps, report: Report, key: AttemptKey, { error: failure, log }: Failed): Promise<Outcome> {
  const item = {
    key,
    failure: { code: failure.code, message: failure.message },
    ...(log.steps.length > 0 && { queries: [...log.queries], record: { usage: null, resultJson: '', steps: [...log.steps] } }),
  };
  const error = await report('fail', () => answers.fail(item));
  if (error === undefined) return { kind: 'failed', error: failure };
  return { kind: isOver(error) ? 'superseded' : 'unreported', error };
}

async function returnAttempt({ answers }: WorkerDeps, key: AttemptKey): Promise<Outcome> {
  try {
    await answers.returnAttempt(key);
    return { kind: 'returned' };
  } catch (cause) {
    return { kind: 'unreported', error: ServiceError.from(cause) };
  }
}

/** Agents needs no further report of this attempt. */
const isOver = ({ code }: ServiceError) => code === 'attempt_superseded' || code === 'not_found';
