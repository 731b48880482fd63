import type { ProcessContext } from '@agent-service/runtime';
import type { Breaker } from './breaker.ts';
import type { ChatRequest, ModelOutput } from './chat.ts';
import { ModelFailure } from './failure.ts';
import { toJsonBlock } from './json.ts';
import type { RemoteModel } from './transport.ts';

interface CallListener {
  readonly signal: AbortSignal;
  onText(text: string): void;
}

/** One model at one address. */
export interface RemoteEndpoint {
  readonly name: string;
  readonly breaker: Breaker;
  /** One attempt. Rejects with a ModelFailure, or with the signal's reason if that ended it. */
  call(request: ChatRequest, listener: CallListener): Promise<ModelOutput>;
}

interface EndpointOptions {
  readonly name: string;
  readonly model: RemoteModel;
  /** The model's name in the models file. */
  readonly modelName: string;
  readonly breaker: Breaker;
  readonly timeoutMs: number;
  readonly meters: Meters;
}

/** The limit of a stream as a multiple of the limit of a piece. */
const streamLimitFactor = 5;

export function remoteEndpoint({ name, model, modelName, breaker, timeoutMs, meters }: EndpointOptions): RemoteEndpoint {
  /** Apart, because some providers refuse the JSON mode beside tools only. */
  const hasJsonMode = { withTools: true, withoutTools: true };

  /**
   * A provider that does not know the JSON mode refuses the request, and is asked without it from then on. One that checks what the model wrote in it
   * may refuse that, and is asked without it once.
   */
  async function call(request: ChatRequest, listener: CallListener): Promise<ModelOutput> {
    const variant = request.tools.length > 0 ? 'withTools' : 'withoutTools';
    if (!request.json || !hasJsonMode[variant]) return callOnce(request, listener, false);
    try {
      return await callOnce(request, listener, true);
    } catch (cause) {
      if (!mayConcernJsonMode(cause)) throw cause;
      const output = await callOnce(request, listener, false);
      if (cause.mayConcernParameters) hasJsonMode[variant] = false;
      return output;
    }
  }

  async function callOnce(request: ChatRequest, { signal, onText }: CallListener, json: boolean): Promise<ModelOutput> {
    const began = performance.now();
    const duration = () => performance.now() - began;
    const { output: answered, abort } = model.call({ ...request, json }, { onText, onProgress: () => limit.progress() });
    const limit = limitCall(signal, { pieceMs: timeoutMs, totalMs: request.stream ? streamLimitFactor * timeoutMs : timeoutMs }, abort);
    try {
      const output = await answered;
      requireAnswer(output, request);
      meters.succeeded(name, duration());
      return { ...output, model: output.model || modelName };
    } catch (cause) {
      if (signal.aborted) {
        meters.aborted(name, duration());
        throw signal.reason;
      }
      if (!(cause instanceof ModelFailure)) throw cause;
      meters.failed(name, duration(), cause);
      throw cause;
    } finally {
      limit.end();
    }
  }
  return { name, breaker, call };
}

const mayConcernJsonMode = (cause: unknown): cause is ModelFailure =>
  cause instanceof ModelFailure && (cause.mayConcernParameters || cause.kind === 'invalid_output');

function requireAnswer({ text, calls, finish }: ModelOutput, { mustAnswer, json }: ChatRequest): void {
  if (finish === 'filtered') throw new ModelFailure('filtered');
  if (calls.length > 0 && !mustAnswer) return;
  const isCut = finish === 'length' && (text.trim() === '' || (json && toJsonBlock(text) === undefined));
  if (isCut) throw new ModelFailure('exhausted');
  if (text.trim() === '') throw new ModelFailure('empty');
}

interface CallLimit {
  /** Restarts the time limit of the next piece. */
  progress(): void;
  end(): void;
}

interface LimitOptions {
  /** From one piece to the next. */
  readonly pieceMs: number;
  readonly totalMs: number;
}

/** Aborts the call when its caller does or its time is up. */
function limitCall(caller: AbortSignal, { pieceMs, totalMs }: LimitOptions, abort: (cause: Error) => void): CallLimit {
  const expire = () => abort(new ModelFailure('timeout'));
  const piece = setTimeout(expire, pieceMs);
  const total = totalMs > pieceMs ? setTimeout(expire, totalMs) : undefined;
  const onAbort = () => abort(abortedError());
  if (caller.aborted) onAbort();
  else caller.addEventListener('abort', onAbort, { once: true });
  return {
    progress: () => void piece.refresh(),
    end() {
      clearTimeout(piece);
      clearTimeout(total);
      caller.removeEventListener('abort', onAbort);
    },
  };
}

const abortedError = () => new Error('the caller aborted the call');

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
    failed(endpoint, ms, { kind, status, code, param }) {
      seconds.observe({ endpoint, outcome: 'failed' }, ms / 1000);
      failures.inc({ endpoint, kind });
      logger.warn({ event: 'model_call_failed', endpoint, kind, status, code, param, duration_ms: Math.round(ms) });
    },
    register: (endpoint) => open.set({ endpoint }, 0),
    breaker(endpoint, isOpen) {
      open.set({ endpoint }, isOpen ? 1 : 0);
      logger.warn({ event: isOpen ? 'model_breaker_opened' : 'model_breaker_closed', endpoint });
    },
  };
}
