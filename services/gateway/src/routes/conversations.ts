import { required } from '@agent-service/contracts';
import { z } from 'zod';
import type { Answers, Question } from '../answers/answers.ts';
import { bodyLimits } from '../http/body.ts';
import { prefersAsync, wantsEvents } from '../http/negotiation.ts';
import { type RouteRequest, reply, route, withoutBody } from '../routing/route.ts';
import { agentParams } from '../schemas/agent.ts';
import {
  answerEvents,
  conversation,
  conversationParams,
  listedMessage,
  message,
  messageParams,
  newMessage,
  readMessage,
  toConversation,
  toListedMessage,
  toMessage,
  toReadMessage,
} from '../schemas/conversation.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';

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
  async handler({ params: { agent_id: agentId, message_id: messageId } }, { agents }) {
    const answer = await agents.cancelAnswer({ agentId, messageId });
    return { data: toMessage(required(answer.message)) };
  },
});

export const getMessage = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/messages/{message_id}',
  operationId: 'getMessage',
  summary: 'View a message, or how its answer stands',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: messageParams,
  response: z.strictObject({ data: readMessage }),
  async handler({ params: { agent_id: agentId, message_id: messageId } }, { agents }) {
    const answer = await agents.getMessage({ agentId, messageId });
    return { data: toReadMessage(required(answer.message)) };
  },
});

export const listConversations = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/conversations',
  operationId: 'listConversations',
  summary: 'List the caller’s own conversations with an agent, the latest message first',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  params: agentParams,
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(conversation), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ params, query, requestId }, { agents }) {
    const { conversations, page } = await agents.listConversations({ agentId: params.agent_id, page: pageRequest(query) });
    return { data: conversations.map(toConversation), meta: toListMeta(page, requestId) };
  },
});

export const listMessages = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/conversations/{conversation_id}/messages',
  operationId: 'listMessages',
  summary: 'List the messages of a conversation, newest first',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: conversationParams,
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(listedMessage), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ params: { agent_id: agentId, conversation_id: conversationId }, query, requestId }, { agents }) {
    const { messages, page } = await agents.listMessages({ agentId, conversationId, page: pageRequest(query) });
    return { data: messages.map(toListedMessage), meta: toListMeta(page, requestId) };
  },
});

type Request = RouteRequest<z.output<typeof agentParams>, unknown, z.output<typeof newMessage>>;

const description = `WaiterRegistry for the answer, up to a minute; then 504 with the ids under which it can be read later, for the work goes on. A 504 says in
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
      headers: ['Location', 'Preference-Applied'],
    },
  ],
  errors: [
    'agent_not_active',
    'conversation_busy',
    'answer_cancelled',
    'agent_deleted',
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
    const question = questionOf(request);
    if (prefersAsync(headers.Prefer)) {
      const data = toMessage(await answers.accept(question, call, disconnected()));
      return reply(
        { data },
        { status: 202, headers: ['Location', messagePath(params.agent_id, data.id), 'Preference-Applied', 'respond-async'] },
      );
    }
    if (wantsEvents(headers.Accept)) return streamed(question, request, answers);
    return { data: toMessage(await answers.wait(question, call, disconnected())) };
  },
});

const questionOf = ({ params, body }: Request): Question => ({
  agentId: params.agent_id,
  conversationId: body.conversation_id ?? '',
  message: body.message,
  contextJson: body.context === undefined ? '' : JSON.stringify(body.context),
});

async function streamed(question: Question, { params, call, disconnected }: Request, answers: Answers) {
  const { started, stream } = await answers.stream(question, call, disconnected());
  const accepted = { messageId: started.answerId, conversationId: started.conversationId };
  return withoutBody({
    headers: ['Content-Location', messagePath(params.agent_id, started.answerId), 'X-Accel-Buffering', 'no'],
    stream: (response) => stream.writeTo(response, accepted),
  });
}

const messagePath = (agentId: string, messageId: string) => `/v1/agents/${encodeURIComponent(agentId)}/messages/${messageId}`;
