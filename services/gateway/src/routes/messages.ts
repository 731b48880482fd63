import { required, ServiceError, withCall } from '@agent-service/contracts';
import { publicFieldsOf } from '@agent-service/http/replies/error-reply';
import { bodyLimits } from '@agent-service/http/requests/body';
import { z } from 'zod';
import { parseEventId } from '../answers/answer-stream.ts';
import type { Answers, NewMessage } from '../answers/answers.ts';
import { failureOf } from '../answers/waiters.ts';
import { type RouteRequest, reply, route, withoutBody } from '../routing/route.ts';
import { agentParams } from '../schemas/agent.ts';
import {
  answerEvents,
  answerEventsExample,
  message,
  messageFeedback,
  messageParams,
  newFeedback,
  newMessage,
  readMessage,
  toFeedback,
  toMessage,
  toReadMessage,
} from '../schemas/conversation.ts';

type Request = RouteRequest<z.output<typeof agentParams>, unknown, z.output<typeof newMessage>>;

const description = `Waits for the answer, up to a minute; then 504 with the ids under which it can be read later, for the work goes on. A 504 says in
\`details.status\` whether the answer is still \`running\` or has \`failed\` at its deadline.

With \`Prefer: respond-async\` the answer is 202 as soon as the message is accepted. With \`Accept: text/event-stream\` it is a stream of
server-sent events. Under an \`Idempotency-Key\` a repeated request attaches to the first one's answer.`;

export const sendMessage = route({
  method: 'POST',
  path: '/v1/agents/{agent_id}/messages',
  operationId: 'sendMessage',
  summary: 'Send a message to an agent',
  description,
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:chat',
  agentTokens: true,
  cost: 'message',
  params: agentParams,
  headers: z.object({
    Accept: z.string().optional().meta({ description: '`text/event-stream` for a stream of events.', example: 'application/json' }),
    Prefer: z.string().optional().meta({ description: '`respond-async` not to wait for the answer.', example: 'respond-async' }),
  }),
  body: newMessage,
  bodyLimits: bodyLimits.message,
  response: z.strictObject({ data: message }),
  otherSuccesses: [
    {
      status: 200,
      description: 'With `Accept: text/event-stream`: events until the answer has ended, and a comment every 15 seconds.',
      type: 'text/event-stream',
      schema: answerEvents,
      headers: ['Content-Location'],
    },
    {
      status: 202,
      description: 'With `Prefer: respond-async`: the message was accepted. It can be read at `Location`.',
      schema: z.strictObject({ data: message }),
      example: { data: { status: 'queued', content: '', credits_consumed: 0, queries: undefined } },
      headers: ['Location', 'Preference-Applied', 'Retry-After'],
    },
  ],
  errors: [
    'agent_not_active',
    'conversation_busy',
    'answer_cancelled',
    'agent_deleted',
    'change_unfinished',
    'credits_exhausted',
    'user_limit_reached',
    'too_many_waiting',
    'provider_error',
    'data_source_unavailable',
    'data_scope_empty',
    'answer_abandoned',
    'answer_timeout',
  ],
  async handler(request, { answers }) {
    const { headers, params, call, disconnected } = request;
    const newMessage = newMessageOf(request);
    if (prefersAsync(headers.Prefer)) {
      const data = toMessage(await answers.accept(newMessage, call, disconnected()));
      const headers = ['Location', messagePath(params.agent_id, data.id), 'Preference-Applied', 'respond-async', 'Retry-After', readAfter];
      return reply({ data }, { status: 202, headers });
    }
    if (wantsEvents(headers.Accept)) return streamReply(newMessage, request, answers);
    return { data: toMessage(await answers.wait(newMessage, call, disconnected())) };
  },
});

/** Seconds until the first read of an answer. Many answers have ended by then, and readers that wait use `Prefer: wait=N`. */
const readAfter = '1';

const resumable = `A stream of server-sent events, each with an id. After a lost connection send the same request again, to any replica, with the same
\`Idempotency-Key\` and the id of the last event as \`Last-Event-ID\`: the stream continues with what is missing of the text, in one piece when the
answer is whole, and nothing is answered or charged twice. If the text was restarted, \`started\` says so.`;

export const streamMessage = route({
  method: 'POST',
  path: '/v1/agents/{agent_id}/messages/stream',
  operationId: 'streamMessage',
  summary: 'Send a message to an agent, and stream the answer',
  description: resumable,
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:chat',
  agentTokens: true,
  cost: 'message',
  extension: true,
  params: agentParams,
  headers: z.object({
    'Last-Event-ID': z.string().optional().meta({
      description:
        'The id of the last event that arrived, as `1-9-0a1b2c3d`. Needs the `Idempotency-Key` of the request whose stream it was.',
      pattern: String.raw`^(\d{1,4}-\d{1,9}-[0-9a-f]{8})?$`,
    }),
  }),
  body: newMessage,
  bodyLimits: bodyLimits.message,
  status: 200,
  responseType: 'text/event-stream',
  response: answerEvents,
  responseExample: answerEventsExample(['1-0-e3b0c442', '1-9-c69690a9', '1-20-5bfa2f3c', '1-20-5bfa2f3c']),
  successHeaders: ['Content-Location'],
  errors: ['agent_not_active', 'conversation_busy', 'credits_exhausted', 'user_limit_reached', 'too_many_waiting'],
  handler: (request, { answers }) =>
    streamReply(newMessageOf(request), request, answers, {
      resumeFrom: resumePosition(request.headers['Last-Event-ID'], request.call.idempotency),
    }),
});

function resumePosition(lastEventId: string | undefined, idempotency: object | undefined) {
  if (lastEventId === undefined || lastEventId === '') return undefined;
  const param = 'Last-Event-ID';
  const resumeFrom = parseEventId(lastEventId);
  if (!resumeFrom)
    throw new ServiceError('invalid_request', { message: 'Last-Event-ID must be the id of an event of this stream.', param });
  if (!idempotency) throw new ServiceError('invalid_request', { message: 'Send the Idempotency-Key of the first request as well.', param });
  return resumeFrom;
}

const newMessageOf = ({ params, body }: Request): NewMessage => ({
  agentId: params.agent_id,
  conversationId: body.conversation_id ?? '',
  message: body.message,
  contextJson: body.context === undefined ? '' : JSON.stringify(body.context),
});

async function streamReply(
  newMessage: NewMessage,
  { params, call, disconnected }: Request,
  answers: Answers,
  ids?: Parameters<Answers['stream']>[3],
) {
  const { started, stream } = await answers.stream(newMessage, call, disconnected(), ids);
  const accepted = { messageId: started.answerId, conversationId: started.conversationId };
  return withoutBody({
    headers: ['Content-Location', messagePath(params.agent_id, started.answerId), 'X-Accel-Buffering', 'no'],
    stream: (response) => stream.writeTo(response, accepted),
  });
}

const messagePath = (agentId: string, messageId: string) => `/v1/agents/${encodeURIComponent(agentId)}/messages/${messageId}`;

const pendingStates: readonly string[] = ['queued', 'running'];
const readWithinMs = 5_000;

export const getMessage = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/messages/{message_id}',
  operationId: 'getMessage',
  summary: 'View a message, or the status of its answer',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: messageParams,
  headers: z.object({
    Prefer: z
      .string()
      .optional()
      .meta({ description: '`wait=N` waits up to N seconds, and the wait limit, for an answer that has not ended.', example: 'wait=10' }),
  }),
  response: z.strictObject({ data: readMessage }),
  responseExample: { data: { error: undefined } },
  otherSuccesses: [
    {
      status: 200,
      description: 'With `Prefer: wait=N`: the message as it was when its answer ended, or after the wait.',
      headers: ['Preference-Applied'],
    },
  ],
  async handler({ params: { agent_id: agentId, message_id: messageId }, headers, call, disconnected }, { agents, answers }) {
    const read = () => agents.getMessage({ agentId, messageId });
    const first = await read();
    const preferred = preferredWait(headers.Prefer);
    const toData = (response: typeof first) => {
      const sent = required(response.message);
      const failure = failureOf(sent);
      const more = {
        ...(failure && { error: publicFieldsOf(failure) }),
        ...(response.feedback && { feedback: toFeedback(response.feedback) }),
      };
      return { data: { ...toReadMessage(sent), ...more } };
    };
    if (preferred === undefined) return toData(first);
    const seconds = Math.min(preferred, answers.maxWaitSeconds);
    const applied = { headers: ['Preference-Applied', `wait=${seconds}`] };
    if (!pendingStates.includes(required(first.message).status)) return reply(toData(first), applied);
    await answers.waitUntilEnded(messageId, call, seconds, disconnected());
    // The wait may have taken longer than a request has otherwise.
    return reply(toData(await withCall({ ...call, expiresAt: performance.now() + readWithinMs }, read)), applied);
  },
});

export const cancelAnswer = route({
  method: 'POST',
  path: '/v1/agents/{agent_id}/messages/{message_id}/cancel',
  operationId: 'cancelAnswer',
  summary: 'End an answer that has no result yet, without a charge',
  description: 'An answer that has its result already is returned as it is.',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:chat',
  agentTokens: true,
  cost: 'write',
  extension: true,
  params: messageParams,
  response: z.strictObject({ data: message }),
  responseExample: {
    data: { status: 'cancelled', content: 'The answer was cancelled. No credits were charged.', credits_consumed: 0, queries: undefined },
  },
  async handler({ params: { agent_id: agentId, message_id: messageId } }, { agents }) {
    const response = await agents.cancelAnswer({ agentId, messageId });
    return { data: toMessage(required(response.message)) };
  },
});

export const setFeedback = route({
  method: 'POST',
  path: '/v1/agents/{agent_id}/messages/{message_id}/feedback',
  operationId: 'setFeedback',
  summary: 'Give feedback on an answer',
  description: "Replaces the caller's earlier feedback. Reading the message returns it.",
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:chat',
  cost: 'write',
  extension: true,
  params: messageParams,
  body: newFeedback,
  response: z.strictObject({ data: messageFeedback }),
  errors: ['conversation_busy'],
  async handler({ params: { agent_id: agentId, message_id: messageId }, body }, { agents }) {
    const response = await agents.setFeedback({ agentId, messageId, ...body });
    return { data: { message_id: messageId, ...toFeedback(required(response.feedback)) } };
  },
});

interface Preference {
  readonly quality: number;
  /** 3 for the type itself, 1 for anything at all. */
  readonly precision: number;
}

/** True if Accept prefers an event stream to JSON: a higher quality, or the same one and named more precisely. */
export function wantsEvents(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('event-stream')) return false;
  const members = parseWeighted(accept);
  const stream = preferenceFor('text/event-stream', members);
  const json = preferenceFor('application/json', members);
  if (stream.quality === 0 || stream.quality < json.quality) return false;
  return stream.quality > json.quality || stream.precision > json.precision;
}

/** The preference of the most precise member that includes the type. */
function preferenceFor(type: string, members: readonly Weighted[]): Preference {
  const ranges = ['*/*', `${type.split('/')[0]}/*`, type];
  return members.reduce<Preference>(
    (best, { value, quality }) => {
      const precision = ranges.indexOf(value) + 1;
      return precision > best.precision ? { quality, precision } : best;
    },
    { quality: 0, precision: 0 },
  );
}

/** One member of a header like Accept: its value in lower case, its parameters left out, and how much it is wanted. */
interface Weighted {
  readonly value: string;
  readonly quality: number;
}

const quality = /^\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i;

/** The members of a weighted list (RFC 9110, section 12.4.2). A member with a malformed quality is ignored. */
function parseWeighted(header: string): Weighted[] {
  return header.split(',').flatMap((member) => {
    const [value = '', ...parameters] = member.split(';');
    const weight = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
    const digits = weight === undefined ? '1' : quality.exec(weight)?.[1];
    return digits === undefined || value.trim() === '' ? [] : [{ value: value.trim().toLowerCase(), quality: Number(digits) }];
  });
}

/** True if Prefer asks not to wait (RFC 7240, section 4.1). */
export const prefersAsync = (prefer: string | undefined): boolean =>
  prefer?.split(',').some((preference) => preference.split(';')[0]?.trim().toLowerCase() === 'respond-async') ?? false;

/** The seconds that Prefer asks to wait (RFC 7240, section 4.3); undefined where it asks for none. A malformed preference is ignored. */
function preferredWait(prefer: string | undefined): number | undefined {
  const wait = prefer?.split(',').map((preference) => /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;|$)/i.exec(preference)?.[1]);
  const seconds = Number(wait?.find((value) => value !== undefined) ?? 0);
  return seconds > 0 ? seconds : undefined;
}
