import type { ClockSampler, ProcessContext } from '@agent-service/runtime';
import {
  type ServiceError as GrpcError,
  loadPackageDefinition,
  Metadata,
  type MethodDefinition,
  type Server,
  type ServerUnaryCall,
  type ServiceClientConstructor,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { HealthImplementation, protoPath } from 'grpc-health-check';
import type { Challenges } from '../callers/challenges.ts';
import type { Replica, ReplicaSet } from './replicas.ts';
import { startUnaryCall } from './unary-call.ts';
import { headers, text } from './wire.ts';

const description = loadSync(protoPath, { enums: String, defaults: true });
const root = loadPackageDefinition(description) as unknown as { grpc: { health: { v1: { Health: ServiceClientConstructor } } } };

/** `grpc.health.v1.Health/Check`. */
const healthMethod = root.grpc.health.v1.Health.service.Check as MethodDefinition<object, object>;

const checkLimitMs = 500;

/** Asks one replica whether it serves, and notes what it says or that it says nothing. */
export function checkReplica(replicas: ReplicaSet, replica: Replica, clock: ClockSampler | undefined): Promise<void> {
  const beganAt = performance.now();
  return new Promise((resolve) => {
    const onEnd = (error: GrpcError | null, response?: object) => {
      if (error) replica.state = stateAfter(error);
      else {
        replicas.noteAnswer(replica);
        replica.state = (response as { status: string }).status === 'SERVING' ? 'serving' : 'not serving';
      }
      resolve();
    };
    const onHeaders = (metadata: Metadata) => {
      replica.challenge = text(metadata, headers.challenge) ?? replica.challenge;
      const peerMs = Number(text(metadata, headers.time));
      if (Number.isFinite(peerMs)) clock?.sample(peerMs, beganAt, performance.now());
    };
    const request = {
      body: healthMethod.requestSerialize({ service: '' }),
      metadata: new Metadata(),
      deadline: Date.now() + checkLimitMs,
    };
    startUnaryCall(replica.channel, healthMethod, request, { onHeaders, onEnd });
  });
}

function stateAfter({ code }: GrpcError): Replica['state'] {
  if (code === status.DEADLINE_EXCEEDED) return 'silent';
  return code === status.UNAVAILABLE || code === status.CANCELLED ? 'away' : 'not serving';
}

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
