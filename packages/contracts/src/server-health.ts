import type { ProcessContext } from '@agent-service/runtime';
import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

const healthEveryMs = 1_000;

/** Publishes the process's own readiness as gRPC health, for balancers and for services that depend on it. */
export function serveHealth(process: ProcessContext, server: Server): void {
  const health = new HealthImplementation({ '': 'NOT_SERVING' });
  health.addToServer(server);
  const refresh = async () => {
    const { ready } = await process.health.report();
    health.setStatus('', ready ? 'SERVING' : 'NOT_SERVING');
  };
  const timer = setInterval(() => void refresh(), healthEveryMs);
  process.onStop('grpc health', async () => {
    clearInterval(timer);
    health.setStatus('', 'NOT_SERVING');
  });
}
