import type { Dispatcher } from 'undici';
import { type FailureReason, failureReason } from '../domain/failure-reason.ts';
import { retryAfterMs } from '../domain/retry-after.ts';
import { signatureHeaders } from '../domain/signatures.ts';
import { readStart } from './read-start.ts';

const attemptLimitMs = 15_000;
const readAtMost = 16 * 1024;
const kept = 1_024;

export interface Sending {
  url: string;
  eventId: string;
  body: string;
  secrets: readonly string[];
}

export type Sent =
  | { kind: 'answered'; status: number; body: string; retryAfterMs: number; durationMs: number }
  | { kind: 'unanswered'; reason: FailureReason; durationMs: number }
  /** The process stops, and whether the receiver has got it is not known. */
  | { kind: 'stopped' };

/** Posts an event to a receiver and reads the beginning of its answer, all within 15 seconds. Never throws: a failure is an outcome. */
export async function send(agent: Dispatcher, sending: Sending, stopping: AbortSignal, limitMs = attemptLimitMs): Promise<Sent> {
  const startedAt = performance.now();
  const duration = () => Math.round(performance.now() - startedAt);
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), limitMs);
  const stop = () => abort.abort();
  stopping.addEventListener('abort', stop, { once: true });
  try {
    if (stopping.aborted) return { kind: 'stopped' };
    const { statusCode, headers, body } = await agent.request(requestOf(sending, abort.signal));
    const start = await readStart(body, readAtMost);
    const retryAfter = headers['retry-after'];
    return {
      kind: 'answered',
      status: statusCode,
      body: new TextDecoder().decode(start).slice(0, kept),
      retryAfterMs: retryAfterMs(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, Date.now()),
      durationMs: duration(),
    };
  } catch (cause) {
    if (stopping.aborted) return { kind: 'stopped' };
    return { kind: 'unanswered', reason: abort.signal.aborted ? 'timeout' : failureReason(cause), durationMs: duration() };
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}

function requestOf({ url, eventId, body, secrets }: Sending, signal: AbortSignal): Dispatcher.RequestOptions {
  const { origin, pathname, search } = new URL(url);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Agent-Service-Webhooks/1',
    ...signatureHeaders({ eventId, body, secrets, nowMs: Date.now() }),
  };
  return { origin, path: `${pathname}${search}`, method: 'POST', headers, body, signal };
}
