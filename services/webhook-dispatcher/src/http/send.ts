import { processClock } from '@agent-service/runtime';
import type { Dispatcher } from 'undici';
import { type FailureReason, failureReason } from '../domain/failure-reason.ts';
import { retryAfterMs } from '../domain/retry-after.ts';
import { signatureHeaders } from '../domain/signatures.ts';
import { post } from './post.ts';

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
  if (stopping.aborted) return { kind: 'stopped' };
  const posting = post(agent, requestOf(sending), readAtMost);
  let overdue = false;
  const timer = setTimeout(() => {
    overdue = true;
    posting.abort(new Error('the receiver took too long'));
  }, limitMs);
  const stop = () => posting.abort(new Error('the process stops'));
  stopping.addEventListener('abort', stop, { once: true });
  try {
    const { status, retryAfter, body } = await posting.posted;
    const text = utf8.decode(body).slice(0, kept);
    return { kind: 'answered', status, body: text, retryAfterMs: retryAfterMs(retryAfter, processClock.now()), durationMs: duration() };
  } catch (cause) {
    if (stopping.aborted) return { kind: 'stopped' };
    return { kind: 'unanswered', reason: overdue ? 'timeout' : failureReason(cause), durationMs: duration() };
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}

const utf8 = new TextDecoder();

function requestOf({ url, eventId, body, secrets }: Sending): Dispatcher.DispatchOptions {
  const { origin, pathname, search } = new URL(url);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Agent-Service-Webhooks/1',
    ...signatureHeaders({ eventId, body, secrets, nowMs: processClock.now() }),
  };
  return { origin, path: `${pathname}${search}`, method: 'POST', headers, body };
}
