import { type ProcessContext, processClock } from '@agent-service/runtime';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Breaker } from './breaker.ts';
import { classify, ModelFailure } from './failure.ts';
import { generateStep, type Step, streamStep } from './step.ts';

export interface StepRequest {
  readonly options: Omit<LanguageModelV4CallOptions, 'abortSignal'>;
  readonly stream: boolean;
  /** The model has to answer with a text now. */
  readonly mustAnswer: boolean;
}

interface CallListener {
  readonly signal: AbortSignal;
  onText(text: string): void;
}

/** One model at one address. */
export interface RemoteEndpoint {
  readonly name: string;
  readonly breaker: Breaker;
  /** One attempt. Rejects with a ModelFailure, or with the signal's reason if that ended it. */
  call(request: StepRequest, listener: CallListener): Promise<Step>;
}

interface EndpointOptions {
  readonly name: string;
  readonly model: LanguageModelV4;
  readonly breaker: Breaker;
  readonly timeoutMs: number;
  readonly meters: Meters;
}

/** The limit of a stream as a multiple of the limit of a piece. */
const streamLimitFactor = 5;

export function remoteEndpoint({ name, model, breaker, timeoutMs, meters }: EndpointOptions): RemoteEndpoint {
  async function call({ options, stream, mustAnswer }: StepRequest, { signal, onText }: CallListener): Promise<Step> {
    const limit = limitCall(signal, { pieceMs: timeoutMs, totalMs: stream ? streamLimitFactor * timeoutMs : timeoutMs });
    const limited = { ...options, abortSignal: limit.signal };
    const began = performance.now();
    const duration = () => performance.now() - began;
    try {
      const step = await (stream ? streamStep(model, limited, { onText, onProgress: limit.progress }) : generateStep(model, limited));
      requireAnswer(step, mustAnswer);
      meters.succeeded(name, duration());
      return step;
    } catch (cause) {
      if (signal.aborted) {
        meters.aborted(name, duration());
        throw signal.reason;
      }
      const failure = limit.expired ? new ModelFailure('timeout') : classify(cause, processClock.now());
      meters.failed(name, duration(), failure);
      throw failure;
    } finally {
      limit.end();
    }
  }
  return { name, breaker, call };
}

/** Refuses a text that the provider filtered, but not a refusal that the model wrote. */
function requireAnswer({ text, calls, finish }: Step, mustAnswer: boolean): void {
  const isRefusal = finish.raw === 'stop' && text.trim() !== '';
  if (finish.unified === 'content-filter' && !isRefusal) throw new ModelFailure('filtered');
  if (text.trim() !== '' || (calls.length > 0 && !mustAnswer)) return;
  throw new ModelFailure(finish.unified === 'length' ? 'exhausted' : 'empty');
}

interface CallLimit {
  /** Ends the call when its caller does or its time is up. */
  readonly signal: AbortSignal;
  readonly expired: boolean;
  /** Restarts the time limit of the next piece. */
  progress(): void;
  end(): void;
}

interface LimitOptions {
  /** From one piece to the next. */
  readonly pieceMs: number;
  readonly totalMs: number;
}

/** One signal for the caller's abort and the time limit. */
function limitCall(caller: AbortSignal, { pieceMs, totalMs }: LimitOptions): CallLimit {
  const controller = new AbortController();
  let expired = false;
  const expire = () => {
    expired = true;
    controller.abort();
  };
  const piece = setTimeout(expire, pieceMs);
  const total = totalMs > pieceMs ? setTimeout(expire, totalMs) : undefined;
  const abort = () => controller.abort(caller.reason);
  if (caller.aborted) abort();
  else caller.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    progress: () => void piece.refresh(),
    end() {
      clearTimeout(piece);
      clearTimeout(total);
      caller.removeEventListener('abort', abort);
    },
  };
}

/** Metrics and logs of the calls to providers. */
export interface Meters {
  succeeded(endpoint: string, ms: number): void;
  failed(endpoint: string, ms: number, failure: ModelFailure): void;
  /** The caller aborted it. */
  aborted(endpoint: string, ms: number): void;
  /** Registers an endpoint with a closed breaker. */
  register(endpoint: string): void;
  breaker(endpoint: string, open: boolean): void;
}

export function createMeters({ metrics, logger }: ProcessContext): Meters {
  const seconds = metrics.seconds('model_call_seconds', 'Duration of calls to model providers', ['endpoint', 'outcome']);
  const failures = metrics.counter('model_call_failures_total', 'Calls to model providers that gave no answer', ['endpoint', 'kind']);
  const open = metrics.gauge('model_breaker_open', '1 while the circuit breaker of an endpoint is open', ['endpoint']);
  return {
    succeeded: (endpoint, ms) => seconds.observe({ endpoint, outcome: 'answered' }, ms / 1000),
    aborted: (endpoint, ms) => seconds.observe({ endpoint, outcome: 'aborted' }, ms / 1000),
    failed(endpoint, ms, { kind, status, code }) {
      seconds.observe({ endpoint, outcome: 'failed' }, ms / 1000);
      failures.inc({ endpoint, kind });
      logger.warn({ event: 'model_call_failed', endpoint, kind, status, code, duration_ms: Math.round(ms) });
    },
    register: (endpoint) => open.set({ endpoint }, 0),
    breaker(endpoint, isOpen) {
      open.set({ endpoint }, isOpen ? 1 : 0);
      logger.warn({ event: isOpen ? 'model_breaker_opened' : 'model_breaker_closed', endpoint });
    },
  };
}
