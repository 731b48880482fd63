import type { AnswerMessage, AnswerRecord, Client } from '@agent-service/contracts';
import { everyNumber, isWithinDepth } from '@agent-service/contracts/json-values';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { tier } from './agent.ts';
import { errorEnvelope } from './errors.ts';

const maxContextBytes = 16 * 1024;
const maxContextDepth = 5;

const example = {
  id: 'msg_01jz0000000000000000000000',
  conversation_id: 'conv_01jz0000000000000000000000',
  role: 'assistant',
  content: 'You sold 120 orders.',
  content_type: 'markdown',
  credits_consumed: 2,
  model_used: 'Fast',
  created_at: '2026-01-31T10:00:00.000Z',
  status: 'completed',
  queries: [
    {
      statement: "SELECT count(*) FROM orders WHERE order_date >= '2025-12-01' AND order_date < '2026-01-01'",
      tables: ['orders'],
      rows: 1,
      duration_ms: 12,
    },
  ],
  usage: { model: 'gpt-5-mini', input_tokens: 2_140, output_tokens: 64, latency_ms: 1_250 },
  result: { columns: [{ name: 'count', type: 'number' }], rows: [[120]], row_count: 1, truncated: false, chart: null },
} as const;
const [exampleQuery] = example.queries;

const exampleMessage = {
  id: 'msg_01jyzzzzzzzzzzzzzzzzzzzzzz',
  conversation_id: example.conversation_id,
  role: 'user',
  content: 'How much did we sell last month?',
  content_type: 'text',
  credits_consumed: 0,
  model_used: '',
  created_at: '2026-01-31T09:59:59.999Z',
  status: 'completed',
} as const;

/** The messages of the example's conversation, newest first. */
export const messagesExample = [example, exampleMessage];

const id = z.string().meta({ example: example.id });
const conversationId = z.string().meta({ example: example.conversation_id });
const agentId = z.string().meta({ example: 'agt_01jz0000000000000000000000' });
const time = z.iso.datetime().meta({ example: example.created_at });

export const messageParams = z.strictObject({ agent_id: agentId, message_id: id });
export const conversationParams = z.strictObject({ agent_id: agentId, conversation_id: conversationId });

const context = z
  .record(z.string(), z.unknown())
  .refine((value) => everyNumber(value, Number.isFinite), 'must not hold numbers as large as 1e309: they cannot be stored')
  .refine(
    (value) => everyNumber(value, keepsItsValue),
    `must not hold whole numbers beyond ${Number.MAX_SAFE_INTEGER}, which may be rounded: send them as text`,
  )
  .refine((value) => isWithinDepth(value, maxContextDepth), `must be nested at most ${maxContextDepth} levels deep`)
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxContextBytes, `must be at most ${maxContextBytes} bytes of JSON`);

export const newMessage = z.strictObject({
  message: text(1, 32_000).meta({ example: exampleMessage.content }),
  conversation_id: text(1, 128).optional().meta({ description: 'Continues this conversation; without it one begins.' }),
  context: context.optional().meta({
    description: `Data for the model, as the page the user is on: up to ${maxContextBytes} bytes of JSON, ${maxContextDepth} levels deep. Whole numbers beyond ${Number.MAX_SAFE_INTEGER} are refused, as they may be rounded: send them as text.`,
  }),
});

/** A number that is too large, Infinity here, is none of the whole ones. */
const keepsItsValue = (number: number) => !Number.isInteger(number) || Number.isSafeInteger(number);

const query = z
  .strictObject({
    statement: z.string().meta({ example: exampleQuery.statement }),
    tables: z.array(z.string()).meta({ example: [...exampleQuery.tables] }),
    rows: z.int().meta({ example: exampleQuery.rows }),
    duration_ms: z.int().meta({ example: exampleQuery.duration_ms }),
  })
  .meta({ id: 'AnswerQuery' });

export const message = z
  .strictObject({
    id,
    conversation_id: conversationId,
    role: z.enum(['user', 'assistant']).meta({ example: example.role }),
    content: z.string().meta({ description: 'Empty until the answer has ended.', example: example.content }),
    content_type: z.enum(['text', 'markdown']).meta({
      description: '`markdown` of answers, unless the agent’s `default_format` was `text`; `text` of what a user wrote.',
      example: example.content_type,
    }),
    credits_consumed: z
      .int()
      .meta({ description: 'The cost of the answer; nothing unless it completed.', example: example.credits_consumed }),
    model_used: z.enum([...tier.options, '']).meta({ description: 'The tier; empty for what a user wrote.', example: example.model_used }),
    created_at: time,
    status: z.enum(['queued', 'running', 'completed', 'failed', 'cancelled']).meta({
      description: 'Beyond the specification.',
      example: example.status,
      'x-extension': true,
    }),
    queries: z.array(query).optional().meta({
      description: 'The queries from which the answer was computed. Beyond the specification.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'Message' });

type Message = z.output<typeof message>;

const usage = z
  .strictObject({
    model: z.string().meta({ description: 'As the provider names it; `built-in` without a language model.', example: example.usage.model }),
    input_tokens: z.int().meta({
      description: 'The tokens of all calls of the model, with the instructions and the results of tools.',
      example: example.usage.input_tokens,
    }),
    output_tokens: z.int().meta({ example: example.usage.output_tokens }),
    latency_ms: z.int().meta({
      description: 'From when a worker began the answer until the text was whole, with its queries.',
      example: example.usage.latency_ms,
    }),
  })
  .meta({ id: 'AnswerUsage' });

const resultColumn = z
  .strictObject({ name: z.string(), type: z.enum(['boolean', 'number', 'date', 'timestamp', 'json', 'text']) })
  .meta({ id: 'AnswerResultColumn' });

const result = z
  .strictObject({
    columns: z.array(resultColumn).meta({ example: [...example.result.columns] }),
    rows: z.array(z.array(z.unknown())).meta({
      description: 'The values of each row, in the order of the columns. Numbers that a double would round are strings.',
      example: [[...example.result.rows[0]]],
    }),
    row_count: z.int().meta({ description: 'The rows that the query returned.', example: 1 }),
    truncated: z
      .boolean()
      .meta({ description: 'The query has more rows than it returned, or `rows` has fewer than `row_count`.', example: false }),
    chart: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The Vega-Lite specification of the chart in `content`.', example: null }),
  })
  .meta({ id: 'AnswerResult' });

export const step = z
  .strictObject({
    name: z.string().meta({ example: 'query' }),
    detail: z.string().meta({ description: 'The statement, the table, or the change.', example: exampleQuery.statement }),
    rows: z.int().meta({ example: exampleQuery.rows }),
    duration_ms: z.int().meta({ example: exampleQuery.duration_ms }),
    error: z.string().nullable().meta({ description: 'Null when it went well.', example: null }),
  })
  .meta({ id: 'AnswerStep' });

const extension = { 'x-extension': true };

/** The caller's opinion of an answer. */
export const newFeedback = z.strictObject({
  score: z.int().min(1).max(5).meta({ description: '1 is useless, 5 is excellent.', example: 5 }),
  comment: text(0, 2_000).default('').meta({ example: 'Exactly the figures of our books.' }),
});

export const feedback = z
  .strictObject({
    ...newFeedback.shape,
    comment: z.string().meta({ example: 'Exactly the figures of our books.' }),
    updated_at: time.meta({ example: '2026-01-31T10:05:00.000Z' }),
  })
  .meta({ id: 'Feedback' });

export const messageFeedback = z.strictObject({ message_id: id, ...feedback.shape }).meta({ id: 'MessageFeedback' });

/** A message as it is read later. */
export const listedMessage = message
  .extend({
    feedback: feedback.optional().meta({ description: 'The caller’s own, if any was given. Beyond the specification.', ...extension }),
    usage: usage.optional().meta({ description: 'The use of the model by the answer. Beyond the specification.', ...extension }),
    result: result
      .nullable()
      .optional()
      .meta({
        description: 'The result of the answer’s last query, up to 32 kB; null without one. Beyond the specification.',
        ...extension,
      }),
  })
  .meta({ id: 'ListedMessage' });

export const readMessage = listedMessage
  .extend({
    steps: z
      .array(step)
      .optional()
      .meta({ description: 'Every call of a tool, in order. Beyond the specification.', ...extension }),
    error: errorEnvelope.shape.error.optional().meta({
      description: 'Why the answer failed or was cancelled, as a caller who waits for it gets it. Beyond the specification.',
      ...extension,
    }),
  })
  .meta({ id: 'ReadMessage' });

/** Converts a message of agents to its public form. */
export const toMessage = (sent: AnswerMessage): Message => ({
  id: sent.id,
  conversation_id: sent.conversationId,
  role: sent.role as Message['role'],
  content: sent.content,
  content_type: sent.contentType as Message['content_type'],
  credits_consumed: sent.creditsConsumed,
  model_used: sent.modelUsed as Message['model_used'],
  created_at: sent.createdAt,
  status: sent.status as Message['status'],
  ...(sent.queries.length > 0 && { queries: sent.queries.map(toQuery) }),
});

/** Converts a message to the form in which a list has it. */
export const toListedMessage = (sent: AnswerMessage): z.output<typeof listedMessage> => ({
  ...toMessage(sent),
  ...(sent.record?.usage && { usage: toUsage(sent.record.usage) }),
  ...(sent.record && { result: toResult(sent.record.resultJson) }),
});

/** Converts a message to the form in which it is read alone. */
export const toReadMessage = (sent: AnswerMessage): z.output<typeof readMessage> => ({
  ...toListedMessage(sent),
  ...(sent.record && { steps: sent.record.steps.map((one) => toStep(one, sent.queries)) }),
});

const toUsage = ({ model, inputTokens, outputTokens, latencyMs }: NonNullable<AnswerRecord['usage']>): z.output<typeof usage> => ({
  model,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  latency_ms: latencyMs,
});

/** Workers write it in the public form. */
const toResult = (json: string): z.output<typeof result> | null => (json === '' ? null : (JSON.parse(json) as z.output<typeof result>));

const toStep = (
  { name, detail, rows, durationMs, error, query: position }: AnswerRecord['steps'][number],
  queries: AnswerMessage['queries'],
): z.output<typeof step> => ({
  name,
  detail: detail || (queries[position - 1]?.statement ?? ''),
  rows,
  duration_ms: durationMs,
  error: error || null,
});

const toQuery = ({ statement, tables, rows, durationMs }: AnswerMessage['queries'][number]): z.output<typeof query> => ({
  statement,
  tables,
  rows,
  duration_ms: durationMs,
});

/** The stream of the example's answer, with an id for each event where its stream has them. */
export function answerEventsExample(ids: readonly string[] = []): string {
  const attempt = 1;
  const events = [
    ['started', { message_id: example.id, conversation_id: example.conversation_id, attempt }],
    ['delta', { text: example.content.slice(0, 9), attempt }],
    ['delta', { text: example.content.slice(9), attempt }],
    ['completed', example],
  ] as const;
  const idLine = (id: string | undefined) => (id === undefined ? '' : `id: ${id}\n`);
  return events.map(([event, data], index) => `event: ${event}\n${idLine(ids[index])}data: ${JSON.stringify(data)}\n\n`).join('');
}

/** A stream of events as one text. `answerEventData` describes what each of them holds. */
export const answerEvents = z.string().meta({
  description: `Server-sent events, each with a JSON object as its data:

- \`started\`: message_id, conversation_id, attempt. Comes again, also with the same attempt, when
  a call of the model is repeated, and discards the text so far.
- \`delta\`: text, attempt. The deltas since the last \`started\` are a beginning of the answer; of a slow reader some may be left out.
- \`tool\`: name, detail, rows, duration_ms, error (null when it went well), attempt.
- \`completed\`: the whole message, with \`result\` and \`usage\` as reading it has them. The last event.
- \`failed\`: the body \`Error\`. The last event.
- \`detached\`: message_id, conversation_id, status (\`running\`). The last event where the stream ends before the answer, as when the
  service is restarted: the work goes on, and the answer can be read at \`Content-Location\`.`,
  example: answerEventsExample(),
});

const attempt = z.int().meta({ description: 'Counts from 1. Another attempt voids the text of those before.', example: 1 });

/** The JSON that each event carries. */
export const answerEventData = {
  started: z.strictObject({ message_id: id, conversation_id: conversationId, attempt }),
  delta: z.strictObject({ text: z.string().meta({ example: example.content.slice(0, 9) }), attempt }),
  tool: z.strictObject({ ...step.shape, attempt }),
  completed: listedMessage,
  failed: errorEnvelope,
  detached: z.strictObject({ message_id: id, conversation_id: conversationId, status: z.literal('running') }),
} as const;

export type AnswerEvent = keyof typeof answerEventData;
export type AnswerEventData<Event extends AnswerEvent> = z.output<(typeof answerEventData)[Event]>;

const title = z.string().meta({ description: 'Empty until one is set.', example: 'Sales of last month' });

/** A conversation of a list. */
export const conversation = z
  .strictObject({
    id: z.string().meta({ example: 'conv_01jz0000000000000000000000' }),
    agent_id: z.string().meta({ example: 'agt_01jz0000000000000000000000' }),
    message_count: z.int().meta({ description: 'The number of messages of both sides.', example: 2 }),
    total_credits: z.int().meta({ description: 'The cost of its answers.', example: 2 }),
    created_at: time,
    last_message_at: time,
    title: title.optional().meta({ description: 'Only with `include=title`; empty until one is set.', 'x-extension': true }),
  })
  .meta({
    id: 'Conversation',
    example: {
      id: 'conv_01jz0000000000000000000000',
      agent_id: 'agt_01jz0000000000000000000000',
      message_count: 2,
      total_credits: 2,
      created_at: '2026-01-31T10:00:00.000Z',
      last_message_at: '2026-01-31T10:00:00.000Z',
    },
  });

/** A conversation with its title, which the specification does not list. */
export const titledConversation = z.strictObject({ ...conversation.shape, title }).meta({ id: 'TitledConversation' });

export const conversationChanges = z.strictObject({
  title: text(0, 200).nullable().meta({ description: 'Empty or null removes it.', example: 'Sales of last month' }),
});

type Agents = Client<'agents'>;
type FeedbackMessage = Awaited<ReturnType<Agents['listMessages']>>['feedback'][number];
type ConversationMessage = Awaited<ReturnType<Agents['listConversations']>>['conversations'][number];

/** Converts feedback of agents to its public form. */
export const toFeedback = ({ score, comment, updatedAt }: FeedbackMessage): z.output<typeof feedback> => ({
  score,
  comment,
  updated_at: updatedAt,
});

/** Converts a conversation of agents to its public form. */
export const toConversation = (sent: ConversationMessage): z.output<typeof conversation> => ({
  id: sent.id,
  agent_id: sent.agentId,
  message_count: sent.messageCount,
  total_credits: Number(sent.totalCredits),
  created_at: sent.createdAt,
  last_message_at: sent.lastMessageAt,
});

export const toTitledConversation = (sent: ConversationMessage): z.output<typeof titledConversation> => ({
  ...toConversation(sent),
  title: sent.title,
});
