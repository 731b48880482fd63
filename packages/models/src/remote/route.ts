import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@agent-service/contracts';
import type { BreakerState } from './breaker.ts';
import type { ChatRequest, ModelOutput } from './chat.ts';
import type { RemoteEndpoint } from './endpoint.ts';
import { ModelFailure } from './failure.ts';

interface RouteListener {
  readonly signal: AbortSignal;
  onText(text: string): void;
  /** Called before each attempt, which discards the text of the one before. */
  onAttempt(): void;
}

/** The calls of one answer to its tier's endpoints. */
interface Route {
  /** The endpoint of the last success. */
  readonly endpoint: string;
  /** One call of a model, with retries and fallbacks; rejects with `provider_error`. Begins at the endpoint of the last success. */
  call(request: ChatRequest, listener: RouteListener): Promise<ModelOutput>;
}

type Outcome = { output: ModelOutput } | { failure: ModelFailure | undefined };

export function createRoute(tenant: string, endpoints: readonly RemoteEndpoint[], conditions: Conditions): Route {
  let at = 0;

  async function call(request: ChatRequest, listener: RouteListener): Promise<ModelOutput> {
    const began = at;
    const states = () => endpoints.slice(began).map(({ breaker }) => breaker.state(tenant));
    for (const wait of [untilProbe, untilProbed]) {
      const outcome = await tryAll(request, listener);
      if ('output' in outcome) return outcome.output;
      if (outcome.failure) throw noAnswer(outcome.failure);
      await wait(states(), conditions, listener.signal);
      at = began;
    }
    const outcome = await tryAll(request, listener);
    if ('output' in outcome) return outcome.output;
    throw noAnswer(outcome.failure);
  }

  /** Without a failure and an output, all breakers are open. */
  async function tryAll(request: ChatRequest, listener: RouteListener): Promise<Outcome> {
    let failure: ModelFailure | undefined;
    for (; at < endpoints.length; at += 1) {
      const outcome = await tryEndpoint(request, listener);
      if ('output' in outcome) return outcome;
      failure = outcome.failure ?? failure;
    }
    return { failure };
  }

  async function tryEndpoint(request: ChatRequest, listener: RouteListener): Promise<Outcome> {
    const isLast = at === endpoints.length - 1;
    let failure: ModelFailure | undefined;
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await tryOnce(request, listener, attempts > 1 && isLast);
      if ('output' in outcome || outcome.failure === undefined) return 'output' in outcome ? outcome : { failure };
      failure = outcome.failure;
      const pauseMs = pauseBeforeRetry(failure, attempts, conditions.random);
      if (pauseMs === undefined) return { failure };
      await conditions.pause(pauseMs, listener.signal);
    }
  }

  /** Without a failure and an output, the endpoint's breaker is open. */
  async function tryOnce(request: ChatRequest, listener: RouteListener, continues: boolean): Promise<Outcome> {
    const endpoint = endpoints[at];
    const permit = endpoint?.breaker.enter(tenant, { continues });
    if (!endpoint || !permit) return { failure: undefined };
    listener.onAttempt();
    try {
      const output = await endpoint.call(request, listener);
      permit.succeed();
      return { output };
    } catch (cause) {
      if (!(cause instanceof ModelFailure) || !cause.countsAgainstEndpoint) permit.drop();
      else permit.fail();
      if (!(cause instanceof ModelFailure)) throw cause;
      if (cause.kind === 'filtered') throw noAnswer(cause);
      return { failure: cause };
    }
  }

  return {
    get endpoint() {
      return endpoints[at]?.name ?? '';
    },
    call,
  };
}

const filteredMessage = "The model's provider filtered the request or the answer for its content. No credits were charged.";
const breakerOpenMessage =
  'The model provider has been failing and gets no calls for some seconds. Try again in a moment. No credits were charged.';

function noAnswer(last: ModelFailure | undefined): ServiceError {
  if (!last) return new ServiceError('provider_error', { message: breakerOpenMessage, details: { reason: 'circuit_open' } });
  const message = last.kind === 'filtered' ? filteredMessage : undefined;
  return new ServiceError('provider_error', { message, details: { reason: last.kind }, cause: last });
}

/** Before the second and the third attempt. */
const pausesMs = [500, 1_000] as const;
const jitter = 0.2;
const maxRetryAfterMs = 10_000;

/** How long to wait before the next attempt at the same endpoint; undefined if there is none. */
export function pauseBeforeRetry(failure: ModelFailure, attempts: number, random: () => number): number | undefined {
  const pauseMs = pausesMs[attempts - 1];
  const { retryAfterMs = 0 } = failure;
  if (!failure.isTemporary || pauseMs === undefined || retryAfterMs > maxRetryAfterMs) return undefined;
  return Math.max(pauseMs, retryAfterMs) * (1 + jitter * random());
}

const maxWaitMs = 5_000;
/** Spreads the calls of waiting answers. */
const jitterMs = 500;

type Waiting = Pick<Conditions, 'pause' | 'random'>;

/** With all breakers open, waits until the first endpoint may be probed or is being probed. */
async function untilProbe(states: readonly BreakerState[], { pause, random }: Waiting, signal: AbortSignal): Promise<void> {
  const waitMs = Math.min(maxWaitMs, ...states.map(({ probeInMs }) => probeInMs));
  if (waitMs > 0) await pause(waitMs + jitterMs * random(), signal);
}

/** Waits for the outcome of the first probe, which counts for all calls of its tenant. */
async function untilProbed(states: readonly BreakerState[], { pause, random }: Waiting, signal: AbortSignal): Promise<void> {
  const trials = states.flatMap(({ probed }) => probed ?? []);
  if (trials.length === 0) return;
  const ended = new AbortController();
  const limit = pause(maxWaitMs + jitterMs * random(), AbortSignal.any([signal, ended.signal]));
  try {
    await Promise.race([...trials, limit]);
  } finally {
    // Its rejection is only our own abort.
    limit.catch(() => undefined);
    ended.abort();
  }
}

/** Time and randomness, which tests replace. */
export interface Conditions {
  /** Milliseconds on a clock that is never set back. */
  readonly monotonicNow: () => number;
  readonly random: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const realConditions: Conditions = {
  monotonicNow: () => performance.now(),
  random: Math.random,
  pause: (ms, signal) => sleep(ms, undefined, { signal }),
};
