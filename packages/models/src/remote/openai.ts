import type { Endpoint } from '../models-file.ts';
import type { CallsMessage, ChatMessage, ChatRequest, ModelInterface, OutputDraft } from './chat.ts';
import { ModelFailure, reportedFailure } from './failure.ts';
import { isJsonObject, type JsonObject, objectsIn, textIn } from './json.ts';

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

const callsMessage = ({ content, thoughts: { texts, details, parts }, calls }: CallsMessage): JsonObject => ({
  role: 'assistant',
  content: parts.length > 0 ? [...parts, ...(content === '' ? [] : [{ type: 'text', text: content }])] : content || null,
  ...texts,
  ...(details.length > 0 && { reasoning_details: details }),
  tool_calls: calls.map(({ id, name, input, extra }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
    ...(extra && { extra_content: extra }),
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
  readMessage(message, draft, (list, one) => void list.push(one));
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
    readMessage(delta, draft, addPiece);
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

/** Reasons of DeepSeek, OpenRouter and vLLM for an answer that was not finished. */
const interruptions = ['insufficient_system_resource', 'error', 'abort'];

function finish(choice: JsonObject, draft: OutputDraft): void {
  failIfReported(choice);
  const reason = choice['finish_reason'];
  if (typeof reason !== 'string') return;
  if (interruptions.includes(reason)) throw new ModelFailure('cut', { code: reason });
  draft.isComplete = true;
  if (reason === 'length') draft.finish = 'length';
  else draft.finish = reason === 'content_filter' ? 'filtered' : 'other';
}

/** The text, which is in `refusal` where the model refuses to answer, and the thoughts. `add` adds an element to their lists. */
function readMessage(message: JsonObject, draft: OutputDraft, add: typeof addPiece): void {
  const { content, refusal } = message;
  draft.addText(textIn(content));
  for (const part of objectsIn(content)) if (part['type'] === 'text') draft.addText(textIn(part['text']));
  draft.addText(textIn(refusal));
  readThoughts(message, draft, add);
}

function readThoughts(message: JsonObject, draft: OutputDraft, add: typeof addPiece): void {
  const { texts, details, parts } = draft.thoughts;
  const present = ['reasoning_content', 'reasoning'].filter((field) => textIn(message[field]) !== '');
  for (const field of present) texts[field] = (texts[field] ?? '') + textIn(message[field]);
  // Servers with both fields have the same text in both.
  draft.reasoning += textIn(message[present[0] ?? '']);
  for (const detail of objectsIn(message['reasoning_details'])) add(details, detail);
  for (const part of objectsIn(message['content'])) {
    if (part['type'] !== 'thinking') continue;
    for (const { text } of objectsIn(part['thinking'])) draft.reasoning += textIn(text);
    add(parts, part);
  }
}

/** Far more than models send, and few enough that each piece can be compared with all of them, or copy them. */
const maxParts = 10_000;

/**
 * Adds a piece of a stream, which continues the newest part of its type and index, or the last part where both have the same type and no index. Encrypted
 * parts come whole.
 */
function addPiece(list: JsonObject[], piece: JsonObject): void {
  const at = typeof piece['data'] === 'string' ? -1 : continuedPart(list, piece);
  const part = list[at];
  if (part) {
    const fields = Object.entries(piece).map(([field, value]) => [field, continuedField(field, part[field], value)]);
    list[at] = { ...part, ...Object.fromEntries(fields) };
  } else {
    if (list.length >= maxParts) throw new ModelFailure('too_large');
    list.push(piece);
  }
}

/** Its place in the list; -1 where the piece begins a part. */
function continuedPart(list: readonly JsonObject[], { type, index }: JsonObject): number {
  const isSame = (part: JsonObject | undefined) => part?.['type'] === type && part?.['index'] === index;
  if (typeof index === 'number') return list.findLastIndex(isSame);
  return isSame(list.at(-1)) ? list.length - 1 : -1;
}

function continuedField(field: string, known: unknown, value: unknown): unknown {
  if (value === null) return known;
  if (field === 'text' || field === 'summary') return textIn(known) + textIn(value);
  if (field !== 'thinking') return value;
  const parts = objectsIn(known);
  for (const part of objectsIn(value)) addPiece(parts, part);
  return parts;
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
  if (isJsonObject(piece['extra_content'])) call.extra = mergeExtra(call.extra, piece['extra_content']);
}

/** By provider, whose fields may come in several pieces. */
function mergeExtra(known: JsonObject = {}, piece: JsonObject): JsonObject {
  const fields = Object.entries(piece).map(([provider, value]) => {
    const before = known[provider];
    return [provider, isJsonObject(before) && isJsonObject(value) ? { ...before, ...value } : value];
  });
  return { ...known, ...Object.fromEntries(fields) };
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
