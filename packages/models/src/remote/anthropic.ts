import type { Endpoint } from '../models-file.ts';
import type { ChatMessage, ChatRequest, ModelInterface, OutputDraft } from './chat.ts';
import { ModelFailure, reportedFailure } from './failure.ts';
import { isJsonObject, type JsonObject, objectsIn, textIn } from './json.ts';

const version = '2023-06-01';

/** Anthropic's messages. */
export const anthropicInterface = ({ model }: Endpoint): ModelInterface => ({
  path: '/messages',
  headers: (apiKey) => ({ 'anthropic-version': version, ...(apiKey !== undefined && { 'x-api-key': apiKey }) }),
  body({ messages, maxOutputTokens, tools, stream, mustAnswer }) {
    const system = messages.flatMap((message) => (message.role === 'system' ? [textBlock(message.content)] : []));
    return {
      model,
      max_tokens: maxOutputTokens,
      ...(system.length > 0 && { system }),
      messages: messages.filter(({ role }) => role !== 'system').map(sentMessage),
      ...(tools.length > 0 && { tools: tools.map(sentTool), tool_choice: { type: mustAnswer ? 'none' : 'auto' } }),
      ...(stream && { stream: true }),
    };
  },
  readAnswer,
  readEvent,
});

const textBlock = (text: string): JsonObject => ({ type: 'text', text });

/** Reasoning is not sent: only blocks that Anthropic has signed would be accepted. */
function sentMessage(message: ChatMessage): JsonObject {
  switch (message.role) {
    case 'calls': {
      const calls = message.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }));
      return { role: 'assistant', content: [...(message.content.trim() === '' ? [] : [textBlock(message.content)]), ...calls] };
    }
    case 'results':
      return { role: 'user', content: message.results.map(resultBlock) };
    default:
      return { role: message.role, content: [textBlock(message.content)] };
  }
}

const resultBlock = ({ callId, content, isError }: Extract<ChatMessage, { role: 'results' }>['results'][number]): JsonObject => ({
  type: 'tool_result',
  tool_use_id: callId,
  content,
  ...(isError && { is_error: true }),
});

const sentTool = ({ name, description, parameters }: ChatRequest['tools'][number]): JsonObject => ({
  name,
  description,
  input_schema: parameters,
});

function readAnswer(answer: JsonObject, draft: OutputDraft): void {
  if (answer['type'] === 'error') throw reportedFailure(answer['error']);
  if (!Array.isArray(answer['content'])) throw new ModelFailure('malformed', { code: 'no_content' });
  for (const [index, block] of objectsIn(answer['content']).entries()) beginBlock({ index, content_block: block }, draft);
  draft.model = textIn(answer['model']);
  readUsage(answer['usage'], draft);
  finish(answer['stop_reason'], draft);
  draft.isComplete = true;
}

function readEvent(event: JsonObject, draft: OutputDraft): void {
  switch (event['type']) {
    case 'message_start':
      beginMessage(event['message'], draft);
      return;
    case 'content_block_start':
      beginBlock(event, draft);
      return;
    case 'content_block_delta':
      continueBlock(event, draft);
      return;
    case 'message_delta':
      readUsage(event['usage'], draft);
      if (isJsonObject(event['delta'])) finish(event['delta']['stop_reason'], draft);
      return;
    case 'message_stop':
      draft.isComplete = true;
      draft.isOver = true;
      return;
    case 'error':
      throw reportedFailure(event['error']);
  }
}

function beginMessage(message: unknown, draft: OutputDraft): void {
  if (!isJsonObject(message)) return;
  draft.model = textIn(message['model']);
  readUsage(message['usage'], draft);
}

function beginBlock({ index, content_block: block }: JsonObject, draft: OutputDraft): void {
  if (!isJsonObject(block)) return;
  draft.addText(textIn(block['text']));
  draft.reasoning += textIn(block['thinking']);
  if (block['type'] !== 'tool_use') return;
  const { id, name, input } = block;
  // In a stream the input is empty here and follows in pieces.
  const isWhole = input !== undefined && !(isJsonObject(input) && Object.keys(input).length === 0);
  draft.addCall({ index: Number(index), id: textIn(id), name: textIn(name), arguments: isWhole ? JSON.stringify(input) : '' });
}

function continueBlock({ index, delta }: JsonObject, draft: OutputDraft): void {
  if (!isJsonObject(delta)) return;
  draft.addText(textIn(delta['text']));
  draft.reasoning += textIn(delta['thinking']);
  const call = draft.calls.findLast((one) => one.index === index);
  if (call) call.arguments += textIn(delta['partial_json']);
}

/** Tokens read from and written to a cache are counted beside the others. */
function readUsage(usage: unknown, draft: OutputDraft): void {
  if (!isJsonObject(usage)) return;
  const { input_tokens: input, output_tokens: output } = usage;
  const cached = [usage['cache_creation_input_tokens'], usage['cache_read_input_tokens']];
  if (typeof input === 'number') draft.inputTokens = cached.reduce((sum: number, tokens) => sum + (Number(tokens) || 0), input);
  if (typeof output === 'number') draft.outputTokens = output;
}

function finish(reason: unknown, draft: OutputDraft): void {
  if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') draft.finish = 'length';
  else if (typeof reason === 'string') draft.finish = reason === 'refusal' ? 'filtered' : 'other';
}
