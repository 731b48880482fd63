import type { ProcessContext } from '@agent-service/runtime';
import type { ModelFailure } from './failure.ts';

/** Metrics and logs of the calls to providers. */
export interface Meters {
  succeeded(endpoint: string, ms: number): void;
  failed(endpoint: string, ms: number, failure: ModelFailure): void;
  /** The caller ended it. */
  aborted(endpoint: string, ms: number): void;
  /** Registers an endpoint with a closed breaker. */
  present(endpoint: string): void;
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
    present: (endpoint) => open.set({ endpoint }, 0),
    breaker(endpoint, isOpen) {
      open.set({ endpoint }, isOpen ? 1 : 0);
      logger.warn({ event: isOpen ? 'model_breaker_opened' : 'model_breaker_closed', endpoint });
    },
  };
}
