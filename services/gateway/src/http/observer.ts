import type { ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import type { Exchange } from './exchange.ts';

export interface Outcome {
  readonly status: number;
  readonly bytes: number;
  readonly error?: ServiceError | undefined;
  /** Of a stream: whether its reader went away before the end. */
  readonly cut?: boolean;
}

export interface Observer {
  /** Called once a request, when its answer is written. */
  finished(exchange: Exchange, outcome: Outcome): void;
}

const abandonedStatus = 499;

/** One log event and one measurement a request. Never headers, bodies, query strings or anything secret. */
export function createObserver({ logger, metrics }: ProcessContext): Observer {
  const seconds = metrics.seconds('http_server_seconds', 'Duration of HTTP requests served', ['route', 'method', 'status']);
  return {
    finished(exchange, { status, bytes, error, cut = exchange.abandoned }) {
      const durationMs = performance.now() - exchange.startedAt;
      const told = cut ? abandonedStatus : status;
      seconds.observe({ route: exchange.route, method: exchange.request.method, status: told }, durationMs / 1_000);
      const event = {
        event: 'request',
        ...describe(exchange),
        status: told,
        code: error?.code ?? 'ok',
        duration_ms: Math.round(durationMs * 100) / 100,
        bytes,
      };
      if (status === 500) logger.error({ ...event, err: error?.cause ?? error });
      else if (status > 500 && !cut) logger.warn({ ...event, err: error?.cause });
      else logger.info(event);
    },
  };
}

const describe = ({ request, route, requestId, principal }: Exchange) => ({
  method: request.method,
  route,
  request_id: requestId,
  organization_id: principal?.organizationId,
  environment: principal?.environment,
  user_id: principal?.userId,
  credential_id: principal?.credentialId,
});
