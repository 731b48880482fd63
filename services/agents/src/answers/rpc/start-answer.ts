import { type Call, checkEnvironment, checkId, checkItems, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import type { StartOutcome } from '../accept.ts';
import { timeOf } from '../domain/message-id.ts';
import { clockToleranceMs } from '../domain/times.ts';
import type { Message } from '../store/accept.ts';
import { refusalMessage, runEach } from './items.ts';

const maxTextLength = 128 * 1024;

export const startAnswer = ({ answers, now }: Pick<AgentsContext, 'answers' | 'now'>): RpcOf<'agents', 'startAnswer'> => ({
  allow: services('gateway'),
  async handle({ items }, call) {
    checkItems(items);
    const outcomes = await runEach(items, (item) => answers.accept(toMessage(item, now(), call)));
    return { results: outcomes.map((outcome) => ('code' in outcome ? { refusal: refusalMessage(outcome) } : toResult(outcome))) };
  },
});

type Item = Parameters<RpcOf<'agents', 'startAnswer'>['handle']>[0]['items'][number];

const toResult = (outcome: StartOutcome) =>
  'refusal' in outcome
    ? { refusal: refusalMessage(outcome.refusal) }
    : {
        started: {
          answerId: outcome.started.answerId,
          conversationId: outcome.started.conversationId,
          createdAt: new Date(outcome.started.createdAt).toISOString(),
          deadlineMs: outcome.started.deadline,
          model: outcome.started.tier,
          attached: outcome.started.attached,
        },
      };

/** When the caller gets a timeout: each message has its own time left beside that of the call. */
const expiryOf = ({ timeLeftMs }: Pick<Item, 'timeLeftMs'>, call: Call) =>
  Math.min(call.expiresAt, timeLeftMs > 0 ? performance.now() + timeLeftMs : Number.POSITIVE_INFINITY);

function toMessage({ principal, ...item }: Item, now: number, call: Call): Message {
  // The gateway has checked this before.
  if (!principal?.scopes.includes('agents:chat')) throw new ServiceError('insufficient_scope');
  const { signal } = call;
  return {
    organizationId: checkId(principal.organizationId, 'organization_id'),
    environment: checkEnvironment(principal.environment),
    userId: checkId(principal.userId, 'user_id'),
    id: item.answerId,
    acceptedAt: checkTime(item.answerId, now),
    agentId: checkId(item.agentId, 'agent_id'),
    conversationId: item.conversationId === '' ? '' : checkId(item.conversationId, 'conversation_id'),
    text: checkText(item.message, 'message'),
    contextJson: checkText(item.contextJson, 'context', 0),
    replyChannel: checkText(item.replyChannel, 'reply_channel', 0),
    stream: item.stream,
    idempotencyScope: checkText(item.idempotencyScope, 'idempotency_scope', 0),
    idempotencyFingerprint: checkText(item.idempotencyFingerprint, 'idempotency_fingerprint', 0),
    requestId: checkText(item.requestId, 'request_id', 0),
    traceparent: checkText(item.traceparent, 'traceparent', 0),
    callerExpiresAt: expiryOf(item, call),
    isCallerGone: () => signal.aborted,
  };
}

/** The id has the time of the request, and the answer's deadline counts from then. */
function checkTime(answerId: string, now: number): number {
  const time = timeOf(answerId);
  if (time === undefined)
    throw new ServiceError('invalid_request', { message: 'answer_id must be the id of a message.', param: 'answer_id' });
  // The clock of the gateway that made it, or ours, is wrong. The caller cannot do anything about it.
  if (Math.abs(time - now) > clockToleranceMs) throw new ServiceError('unavailable');
  return time;
}

/** A text that PostgreSQL cannot store would fail the whole batch. */
function checkText(text: string, param: string, minLength = 1): string {
  if (text.length >= minLength && text.length <= maxTextLength && !text.includes('\0') && text.isWellFormed()) return text;
  throw new ServiceError('invalid_request', { message: `${param} is empty, too long or not plain text.`, param });
}
