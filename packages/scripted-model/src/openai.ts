import { argumentsText, type ChatRequest, type TextReply, type ToolsReply, textOf, usageOf, words } from './reply.ts';

const toolCalls = (reply: ToolsReply, call: number) =>
  reply.calls.map(({ name, arguments: parameters }, index) => ({
    index,
    id: `call_${call}_${index}`,
    type: 'function' as const,
    function: { name, arguments: argumentsText(parameters) },
  }));

function countOf(request: ChatRequest, reply: TextReply | ToolsReply) {
  if (reply.usage === null) return undefined;
  const usage = reply.usage ?? usageOf(request, textOf(reply));
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens };
}

const finishOf = (reply: TextReply | ToolsReply) => (reply.kind === 'text' ? (reply.finish ?? 'stop') : 'tool_calls');

/** The whole answer at once. */
export function completion(request: ChatRequest, reply: TextReply | ToolsReply, call: number): object {
  const message =
    reply.kind === 'text'
      ? { role: 'assistant', content: reply.text }
      : { role: 'assistant', content: reply.text ?? null, tool_calls: toolCalls(reply, call) };
  return {
    id: `chatcmpl-${call}`,
    object: 'chat.completion',
    created: 0,
    model: request.model,
    choices: [{ index: 0, message, finish_reason: finishOf(reply) }],
    usage: countOf(request, reply),
  };
}

/** The answer as the events of a stream, a word at a time. */
export function chunks(request: ChatRequest, reply: TextReply | ToolsReply, call: number): string[] {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: `chatcmpl-${call}`, object: 'chat.completion.chunk', created: 0, model: request.model, ...more })}\n\n`;
  const choice = (delta: object, finish_reason: string | null = null) => chunk({ choices: [{ index: 0, delta, finish_reason }] });
  const usage = countOf(request, reply);
  return [
    choice({ role: 'assistant' }),
    ...words(textOf(reply)).map((word) => choice({ content: word })),
    ...(reply.kind === 'tools' ? splitCalls(reply, call).map((tool_calls) => choice({ tool_calls })) : []),
    choice({}, finishOf(reply)),
    ...(usage ? [chunk({ choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ];
}

/** Arguments come in two pieces, as from real providers. */
function splitCalls(reply: ToolsReply, call: number): object[][] {
  const calls = toolCalls(reply, call);
  const half = (text: string) => Math.ceil(text.length / 2);
  const first = calls.map((one) => ({
    ...one,
    function: { ...one.function, arguments: one.function.arguments.slice(0, half(one.function.arguments)) },
  }));
  const second = calls.map(({ index, function: call }) => ({ index, function: { arguments: call.arguments.slice(half(call.arguments)) } }));
  const pieces = reply.sequential ? calls.flatMap((_, index) => [first[index], second[index]]) : [...first, ...second];
  return pieces.flatMap((piece) => (piece ? [[piece]] : []));
}
