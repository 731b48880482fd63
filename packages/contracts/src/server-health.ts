import type { ProcessContext } from '@agent-service/runtime';
import { Metadata, type Server, type ServerUnaryCall, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Challenges } from './challenges.ts';
import { headers } from './wire.ts';

const healthEveryMs = 1_000;
/** Readiness is waited for. */
const unreadyEveryMs = 200;

type Check = (call: ServerUnaryCall<unknown, unknown>, callback: unknown) => void;

/** Publishes the process's own readiness as gRPC health, for balancers and for services that depend on it, and with it the time and the challenge that calls are signed under. */
export function serveHealth({ health, clock, onStop }: ProcessContext, server: Server, challenges: Challenges): void {
  const published = new HealthImplementation({ '': 'NOT_SERVING' });
  published.addToServer({
    addService(definition: ServiceDefinition, implementation: UntypedServiceImplementation) {
      const answer = implementation['check'] as Check;
      const check: Check = (call, callback) => {
        const metadata = new Metadata();
        metadata.set(headers.time, String(clock.now()));
        metadata.set(headers.challenge, challenges.present);
        call.sendMetadata(metadata);
        answer(call, callback);
      };
      server.addService(definition, { ...implementation, check });
    },
  } as Server);
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const refresh = async () => {
    const { ready } = await health.report();
    if (isStopped) return;
    published.setStatus('', ready ? 'SERVING' : 'NOT_SERVING');
    timer = setTimeout(() => void refresh(), ready ? healthEveryMs : unreadyEveryMs);
  };
  void refresh();
  onStop('grpc health', async () => {
    isStopped = true;
    clearTimeout(timer);
    published.setStatus('', 'NOT_SERVING');
  });
}
