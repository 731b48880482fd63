import type { Endpoint } from '../models-file.ts';
import type { ChatMessage, ChatRequest, JsonObject, ModelInterface, OutputDraft } from './chat.ts';
import { isJsonObject, objectsIn, textIn } from './chat.ts';
import { ModelFailure, reportedFailure } from './failure.ts';

/** Chat completions, as OpenAI and many others serve them. */
export const openaiInterface = ({ model, outputLimitParameter, extraBody }: Endpoint): ModelInterface => ({
  path: '/chat/completions',
  headers: (apiKey) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  body: ({ messages, maxOutputTokens, tools, stream, mustAnswer, json }) => ({
    ...extraBody,
    model,
    [outputLimitParameter]: maxOutputTokens,
    messages: messages.flatMap(sentMessages),
    ...(tools.length > 0 && { tools: tools.map(sentTool), tool_choice: mustAnswer ? 'none' : 'auto' }),
    ...(json && { response_format: { type: 'json_object' } }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  }),
  readAnswer,
  readEvent,
});

function sentMessages(message: ChatMessage): JsonObject[] {
  switch (message.role) {
    case 'calls':
      return [callsMessage(message)];
    case 'results':
      return message.results.map(({ callId, content }) => ({ role: 'tool', tool_call_id: callId, content }));
    default:
      return [{ role: message.role, content: message.content }];
  }
}

const callsMessage = ({ content, reasoning, calls }: Extract<ChatMessage, { role: 'calls' }>): JsonObject => ({
  role: 'assistant',
  content: content === '' ? null : content,
  ...(reasoning !== '' && { reasoning_content: reasoning }),
  tool_calls: calls.map(({ id, name, input, signature }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
    ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
  })),
});

const sentTool = ({ name, description, parameters }: ChatRequest['tools'][number]): JsonObject => ({
  type: 'function',
  function: { name, description, parameters },
});

function readAnswer(answer: JsonObject, draft: OutputDraft): void {
  failIfReported(answer);
  const [choice] = objectsIn(answer['choices']);
  const message = choice?.['message'];
  if (!choice || !isJsonObject(message)) throw new ModelFailure('malformed', { code: 'no_choice' });
  draft.model = textIn(answer['model']);
  readUsage(answer, draft);
  readMessage(message, draft);
  // Calls of a whole answer are complete, so none continues the one before.
  for (const [index, call] of objectsIn(message['tool_calls']).entries()) readCall({ ...call, index }, draft);
  finish(choice, draft);
  draft.isComplete = true;
}

function readEvent(event: JsonObject, draft: OutputDraft): void {
  failIfReported(event);
  draft.model ||= textIn(event['model']);
  readUsage(event, draft);
  const [choice] = objectsIn(event['choices']);
  if (!choice) return;
  const delta = choice['delta'];
  if (isJsonObject(delta)) {
    readMessage(delta, draft);
    for (const call of objectsIn(delta['tool_calls'])) readCall(call, draft);
  }
  finish(choice, draft);
}

function failIfReported({ error }: JsonObject): void {
  if (error !== undefined && error !== null) throw reportedFailure(error);
}

function readUsage({ usage }: JsonObject, draft: OutputDraft): void {
  if (!isJsonObject(usage)) return;
  draft.inputTokens = usage['prompt_tokens'];
  draft.outputTokens = usage['completion_tokens'];
}

function finish({ finish_reason: reason }: JsonObject, draft: OutputDraft): void {
  if (typeof reason !== 'string') return;
  draft.isComplete = true;
  if (reason === 'length') draft.finish = 'length';
  else draft.finish = reason === 'content_filter' ? 'filtered' : 'other';
}

/** The text, which is in `refusal` where the model refuses to answer. */
function readMessage({ content, refusal, reasoning_content, reasoning }: JsonObject, draft: OutputDraft): void {
  draft.reasoning += textIn(reasoning_content ?? reasoning);
  draft.addText(textIn(content));
  for (const part of objectsIn(content)) {
    if (part['type'] === 'text') draft.addText(textIn(part['text']));
    if (part['type'] === 'thinking') for (const { text } of objectsIn(part['thinking'])) draft.reasoning += textIn(text);
  }
  draft.addText(textIn(refusal));
}

/** A call, or the next piece of one. */
function readCall(piece: JsonObject, draft: OutputDraft): void {
  const called = isJsonObject(piece['function']) ? piece['function'] : {};
  const [id, name] = [textIn(piece['id']), textIn(called['name'])];
  const index = typeof piece['index'] === 'number' ? piece['index'] : undefined;
  const call = continuedCall({ id, name, index }, draft) ?? draft.addCall({ id, index });
  call.id ||= id;
  call.name ||= name;
  call.arguments += textIn(called['arguments']);
  call.signature ??= signatureIn(piece['extra_content']);
}

/**
 * The call that a piece continues: the one with its index, which some servers leave out and others repeat for every call, so that another id or
 * name begins another call.
 */
function continuedCall({ id, name, index }: { id: string; name: string; index: number | undefined }, { calls }: OutputDraft) {
  const isCandidate = (call: (typeof calls)[number]) => (index === undefined ? id === '' || call.id === id : call.index === index);
  if (index === undefined && id === '' && name !== '') return undefined;
  const candidate = calls.findLast(isCandidate);
  const isAnother = (part: string, known = '') => part !== '' && known !== '' && part !== known;
  return isAnother(name, candidate?.name) || (name !== '' && isAnother(id, candidate?.id)) ? undefined : candidate;
}

function signatureIn(extra: unknown): string | undefined {
  const google = isJsonObject(extra) ? extra['google'] : undefined;
  return (isJsonObject(google) && textIn(google['thought_signature'])) || undefined;
}
