import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '@agent-service/contracts';
import { pauseAfter } from '../domain/pauses.ts';

const clientFault = 500;
const tooMany = 429;

/** May be otherwise a moment later: the service or what it stands on is away, slow or crowded. */
export const mayPass = ({ definition: { http } }: ServiceError): boolean => http >= clientFault || http === tooMany;

export interface PersistOptions {
  readonly now: () => number;
  /** Asked before each further try, because a process that stops has less time. */
  readonly endsAt: () => number;
  readonly onAgain: () => void;
}

/** Makes a call until it is answered; a refusal that would not pass, and the last failure when the time is up, are thrown. */
export async function persist<Result>(call: () => Promise<Result>, { now, endsAt, onAgain }: PersistOptions): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await call();
    } catch (cause) {
      const pauseMs = pauseAfter(failures, Math.random());
      if (!mayPass(ServiceError.from(cause)) || now() + pauseMs > endsAt()) throw cause;
      await pause(pauseMs);
      onAgain();
    }
  }
}
