import { z } from 'zod';

/** A stream of events, which no schema can describe; what each of them holds stands in the description. */
export const answerEvents = z.string().meta({
  description: `Server-sent events, each with a JSON object as its data:

- \`started\`: message_id, conversation_id, attempt. Comes again, also with the same attempt, when
  another try begins, and voids the text so far.
- \`delta\`: text, attempt. The deltas since the last \`started\` are a beginning of the answer; of a slow reader some may be left out.
- \`tool\`: name, detail, rows, duration_ms, error (null when it went well), attempt.
- \`completed\`: the whole message. The last event.
- \`failed\`: the body \`Error\`. The last event.
- \`detached\`: message_id, conversation_id, status (\`running\`). The last event where the stream ends before the answer, as when the
  service is restarted: the work goes on, and the answer can be read at \`Content-Location\`.`,
  example:
    'event: started\ndata: {"message_id":"msg_01jz0000000000000000000000","conversation_id":"conv_01jz0000000000000000000000","attempt":1}\n\nevent: delta\ndata: {"text":"You sold ","attempt":1}\n\n',
});
