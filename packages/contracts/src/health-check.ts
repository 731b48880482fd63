import type { ClockSampler } from '@agent-service/runtime';
import { type ServiceError as GrpcError, status } from '@grpc/grpc-js';
import { healthMethod } from './health-method.ts';
import type { Replica, ReplicaSet } from './replicas.ts';
import { headers, text } from './wire.ts';

const checkLimitMs = 500;

/** Asks one replica whether it serves, and notes what it says or that it says nothing. */
export function checkReplica(replicas: ReplicaSet, replica: Replica, clock: ClockSampler | undefined): Promise<void> {
  const { path, requestSerialize, responseDeserialize } = healthMethod;
  const beganAt = performance.now();
  return new Promise((resolve) => {
    const done = (error: GrpcError | null, response?: object) => {
      if (error) replica.state = stateAfter(error);
      else {
        replicas.noteAnswer(replica);
        replica.state = (response as { status: string }).status === 'SERVING' ? 'serving' : 'not serving';
      }
      resolve();
    };
    const options = { deadline: Date.now() + checkLimitMs };
    const call = replica.channel.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: '' }, options, done);
    call.on('metadata', (metadata) => {
      replica.challenge = text(metadata, headers.challenge) ?? replica.challenge;
      const peerMs = Number(text(metadata, headers.time));
      if (Number.isFinite(peerMs)) clock?.sample(peerMs, beganAt, performance.now());
    });
  });
}

function stateAfter({ code }: GrpcError): Replica['state'] {
  if (code === status.DEADLINE_EXCEEDED) return 'silent';
  return code === status.UNAVAILABLE || code === status.CANCELLED ? 'away' : 'not serving';
}
