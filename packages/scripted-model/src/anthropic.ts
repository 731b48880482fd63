import { argumentsText, type ChatRequest, type TextReply, type ToolsReply, textOf, usageOf, words } from './reply.ts';

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown };

const blocksOf = (reply: TextReply | ToolsReply, call: number): Block[] => [
  ...(textOf(reply) === '' ? [] : [{ type: 'text' as const, text: textOf(reply) }]),
  ...(reply.kind === 'tools'
    ? reply.calls.map(({ name, arguments: input }, index) => ({ type: 'tool_use' as const, id: `toolu_${call}_${index}`, name, input }))
    : []),
];

function countOf(request: ChatRequest, reply: TextReply | ToolsReply) {
  const { prompt_tokens, completion_tokens } = reply.usage ?? usageOf(request, textOf(reply));
  return { input_tokens: prompt_tokens, output_tokens: completion_tokens };
}

const stopOf = (reply: TextReply | ToolsReply) => (reply.kind === 'text' ? (reply.finish ?? 'end_turn') : 'tool_use');

const envelope = (request: ChatRequest, call: number) => ({ id: `msg_${call}`, type: 'message', role: 'assistant', model: request.model });

/** The whole answer at once. */
export const anthropicMessage = (request: ChatRequest, reply: TextReply | ToolsReply, call: number): object => ({
  ...envelope(request, call),
  content: blocksOf(reply, call),
  stop_reason: stopOf(reply),
  stop_sequence: null,
  usage: countOf(request, reply),
});

/** The answer as the events of a stream. */
export function anthropicEvents(request: ChatRequest, reply: TextReply | ToolsReply, call: number): string[] {
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const { input_tokens, output_tokens } = countOf(request, reply);
  const blocks = blocksOf(reply, call).flatMap((block, index) => [
    event('content_block_start', {
      index,
      content_block: block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} },
    }),
    ...deltasOf(block).map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ]);
  return [
    event('message_start', {
      message: {
        ...envelope(request, call),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens, output_tokens: 1 },
      },
    }),
    event('ping', {}),
    ...blocks,
    event('message_delta', { delta: { stop_reason: stopOf(reply), stop_sequence: null }, usage: { output_tokens } }),
    event('message_stop', {}),
  ];
}

function deltasOf(block: Block): object[] {
  if (block.type === 'text') return words(block.text).map((text) => ({ type: 'text_delta', text }));
  return [{ type: 'input_json_delta', partial_json: argumentsText(block.input as Record<string, unknown> | string) }];
}
