import { z } from 'zod';
import { conversationParams, listedMessage, messageParams, step } from './conversation.ts';
import { errorEnvelope } from './errors.ts';

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
  example:
    'event: started\ndata: {"message_id":"msg_01jz0000000000000000000000","conversation_id":"conv_01jz0000000000000000000000","attempt":1}\n\nevent: delta\ndata: {"text":"You sold ","attempt":1}\n\n',
});

const attempt = z.int().meta({ description: 'Counts from 1. Another attempt voids the text of those before.', example: 1 });
const { message_id } = messageParams.shape;
const { conversation_id } = conversationParams.shape;

/** The JSON that each event carries. */
export const answerEventData = {
  started: z.strictObject({ message_id, conversation_id, attempt }),
  delta: z.strictObject({ text: z.string().meta({ example: 'You sold ' }), attempt }),
  tool: z.strictObject({ ...step.shape, attempt }),
  completed: listedMessage,
  failed: errorEnvelope,
  detached: z.strictObject({ message_id, conversation_id, status: z.literal('running') }),
} as const;

export type AnswerEvent = keyof typeof answerEventData;
export type AnswerEventData<Event extends AnswerEvent> = z.output<(typeof answerEventData)[Event]>;
