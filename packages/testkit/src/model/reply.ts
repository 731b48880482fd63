/** What a chat completion request of the OpenAI interface says, as far as a script looks at it. */
export interface ChatRequest {
  model: string;
  stream?: boolean;
  messages: { role: string; content?: unknown; tool_call_id?: string; tool_calls?: unknown[] }[];
  tools?: { type: 'function'; function: { name: string } }[];
}

/** What the scripted model does with one request. */
export type ModelReply =
  | { kind: 'text'; text: string; usage?: Usage; delayMs?: number; pieceDelayMs?: number }
  | { kind: 'tools'; calls: { name: string; arguments: Record<string, unknown> }[]; usage?: Usage; delayMs?: number }
  | { kind: 'failure'; status: number; headers?: Record<string, string>; message?: string; delayMs?: number }
  /** The connection ends in the middle of the answer. */
  | { kind: 'cut'; after: string }
  /** Never answers; the caller has to give up. */
  | { kind: 'silence' };

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

const words = (text: string) => text.match(/\S+\s*|\s+/g) ?? [];

export const usageOf = (request: ChatRequest, text: string): Usage => ({
  prompt_tokens: words(JSON.stringify(request.messages)).length,
  completion_tokens: words(text).length,
});

const toolCalls = (reply: Extract<ModelReply, { kind: 'tools' }>, call: number) =>
  reply.calls.map(({ name, arguments: given }, index) => ({
    index,
    id: `call_${call}_${index}`,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(given) },
  }));

const total = (usage: Usage) => ({ ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens });

/** The whole answer at once. */
export function completion(request: ChatRequest, reply: Extract<ModelReply, { kind: 'text' | 'tools' }>, call: number): object {
  const text = reply.kind === 'text' ? reply.text : '';
  const message =
    reply.kind === 'text' ? { role: 'assistant', content: text } : { role: 'assistant', content: null, tool_calls: toolCalls(reply, call) };
  return {
    id: `chatcmpl-${call}`,
    object: 'chat.completion',
    created: 0,
    model: request.model,
    choices: [{ index: 0, message, finish_reason: reply.kind === 'text' ? 'stop' : 'tool_calls' }],
    usage: total(reply.usage ?? usageOf(request, text)),
  };
}

/** The answer as the events of a stream, a word at a time. */
export function chunks(request: ChatRequest, reply: Extract<ModelReply, { kind: 'text' | 'tools' }>, call: number): object[] {
  const chunk = (more: object) => ({ id: `chatcmpl-${call}`, object: 'chat.completion.chunk', created: 0, model: request.model, ...more });
  const choice = (delta: object, finish_reason: string | null = null) => chunk({ choices: [{ index: 0, delta, finish_reason }] });
  const text = reply.kind === 'text' ? reply.text : '';
  const deltas =
    reply.kind === 'text' ? words(text).map((word) => choice({ content: word })) : [choice({ tool_calls: toolCalls(reply, call) })];
  return [
    choice({ role: 'assistant' }),
    ...deltas,
    choice({}, reply.kind === 'text' ? 'stop' : 'tool_calls'),
    chunk({ choices: [], usage: total(reply.usage ?? usageOf(request, text)) }),
  ];
}
