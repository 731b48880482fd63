import type { ClockSampler, ProcessContext } from '@agent-service/runtime';
import {
  type ServiceError as GrpcError,
  Metadata,
  type MethodDefinition,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { Challenges } from '../callers/challenges.ts';
import type { CallSigner, CallVerifier } from '../callers/signed-caller.ts';
import { describeService, readProtos } from '../protos.ts';
import type { Replica, ReplicaSet } from './replicas.ts';
import { startUnaryCall } from './unary-call.ts';
import { headers, text } from './wire.ts';

const messages = {
  HealthCheckRequest: { fields: { service: { type: 'string', id: 1 } } },
  HealthCheckResponse: {
    fields: { status: { type: 'ServingStatus', id: 1 } },
    nested: { ServingStatus: { values: { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } } },
  },
};
const ofHealth = { requestType: 'HealthCheckRequest', responseType: 'HealthCheckResponse' };
const methods = { Check: ofHealth, Watch: { ...ofHealth, responseStream: true } };

/** The health protocol of gRPC (grpc/health/v1/health.proto), without the methods that list services. */
const healthService = describeService(
  readProtos({ nested: { grpc: { nested: { health: { nested: { v1: { nested: { Health: { methods }, ...messages } } } } } } } }),
  'grpc.health.v1.Health',
);
const healthMethod = healthService['Check'] as MethodDefinition<object, object>;

const checkLimitMs = 500;

/** The signature of a check covers the same each time: it proves a secret that the server knows, and a check that is repeated has no effect. */
const signedCheck = { path: healthMethod.path, requestId: '', idempotency: '', body: new Uint8Array() };

export interface Checking {
  readonly replicas: ReplicaSet;
  readonly signer: CallSigner;
  readonly clock: ClockSampler | undefined;
}

/** Asks one replica whether it serves, and notes what it says or that it says nothing. */
export function checkReplica({ replicas, signer, clock }: Checking, replica: Replica): Promise<void> {
  const beganAt = performance.now();
  return new Promise((resolve) => {
    let sampleClock: (() => void) | undefined;
    const onEnd = (error: GrpcError | null, response?: object) => {
      replica.fault = error ?? undefined;
      if (error) {
        replica.state = stateAfter(error);
        if (error.code === status.UNAUTHENTICATED) replica.refusal = error;
      } else {
        replica.refusal = null;
        // Only of a check that was answered: a process whose every call would be refused waits for the time, and takes no jobs.
        sampleClock?.();
        replicas.noteResponse(replica);
        replica.state = (response as { status: string }).status === 'SERVING' ? 'serving' : 'not serving';
      }
      resolve();
    };
    const onHeaders = (metadata: Metadata) => {
      replica.challenge = text(metadata, headers.challenge) ?? replica.challenge;
      replica.isImpaired = text(metadata, headers.impaired) !== undefined;
      const peerMs = Number(text(metadata, headers.time));
      const receivedAt = performance.now();
      if (Number.isFinite(peerMs)) sampleClock = () => clock?.sample(peerMs, beganAt, receivedAt);
    };
    const metadata = new Metadata();
    metadata.set(headers.caller, signer.sign({ ...signedCheck, challenge: replica.challenge }, undefined, undefined).caller);
    const request = {
      body: healthMethod.requestSerialize({ service: '' }),
      metadata,
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

interface HealthRequest {
  readonly service: string;
}

type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

const statusNumbers: Record<ServingStatus, number> = { SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 };

const unknownKey = {
  code: status.UNAUTHENTICATED,
  details: 'The check is signed with a key that this service does not know: compare SERVICE_SECRET or SERVICE_KEYS of both.',
};

/**
 * Publishes the process's own readiness as gRPC health, for balancers and for services that depend on it, and with it the time and the challenge that
 * calls are signed under. A service whose calls would all be refused is told so: it must not become ready. Balancers do not sign.
 */
export function serveHealth(
  { health, clock, onStop }: ProcessContext,
  server: Server,
  { verifier, challenges }: { readonly verifier: CallVerifier; readonly challenges: Challenges },
): void {
  let serving: ServingStatus = 'NOT_SERVING';
  const watchers = new Set<ServerWritableStream<HealthRequest, object>>();
  const answer = (what: ServingStatus) => ({ status: statusNumbers[what] });
  const publish = (what: ServingStatus) => {
    if (what === serving) return;
    serving = what;
    for (const watcher of watchers) watcher.write(answer(serving));
  };
  server.addService(healthService, {
    Check(call: ServerUnaryCall<HealthRequest, object>, callback: sendUnaryData<object>) {
      const metadata = new Metadata();
      metadata.set(headers.time, String(clock.now()));
      metadata.set(headers.challenge, challenges.present);
      if (health.isImpaired) metadata.set(headers.impaired, 'true');
      call.sendMetadata(metadata);
      const caller = text(call.metadata, headers.caller);
      if (caller !== undefined && !verifier.verify({ caller, voucher: '' }, signedCheck)) callback(unknownKey);
      else if (call.request.service === '') callback(null, answer(serving));
      else callback({ code: status.NOT_FOUND, details: 'The health of single services is not published.' });
    },
    Watch(call: ServerWritableStream<HealthRequest, object>) {
      if (call.request.service === '') watchers.add(call);
      call.on('cancelled', () => watchers.delete(call));
      call.write(answer(call.request.service === '' ? serving : 'SERVICE_UNKNOWN'));
    },
  });
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const refresh = async () => {
    const { ready } = await health.report();
    if (isStopped) return;
    publish(ready ? 'SERVING' : 'NOT_SERVING');
    timer = setTimeout(() => void refresh(), ready ? healthEveryMs : unreadyEveryMs);
  };
  void refresh();
  onStop('grpc health', async () => {
    isStopped = true;
    clearTimeout(timer);
    publish('NOT_SERVING');
  });
}
