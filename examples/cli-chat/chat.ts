// A chat in the terminal: AGENT_SERVICE_KEY=sa_… node examples/cli-chat/chat.ts AGENT_ID. Answers are streamed; an empty line ends it.
import { createInterface } from 'node:readline';
import { AgentServiceError, createClient, isApiError, streamAnswer } from '@agent-service/client';

const { AGENT_SERVICE_URL: baseUrl = 'http://127.0.0.1:8080', AGENT_SERVICE_KEY: auth = '' } = process.env;
const agentId = process.argv[2];
if (!auth || !agentId) {
  console.error('usage: AGENT_SERVICE_KEY=sa_… node chat.ts AGENT_ID');
  process.exit(2);
}

const client = createClient({ baseUrl, auth });
let conversationId: string | undefined;

/** Prints the answer while it is made. The conversation goes on with the next message. */
async function ask(agent: string, message: string): Promise<void> {
  let printed = 0;
  for await (const event of streamAnswer(client, agent, { message, ...(conversationId && { conversation_id: conversationId }) })) {
    if (event.type === 'started') {
      conversationId = event.conversationId;
      // A further attempt begins its text again.
      if (printed > 0) process.stdout.write('\n(again)\n');
      printed = 0;
    }
    process.stdout.write(event.content.slice(printed));
    printed = event.content.length;
    if (event.type === 'completed') process.stdout.write(`\n(${event.message.credits_consumed} credits)\n`);
  }
}

const input = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
let isOpen = true;
input.once('close', () => (isOpen = false));
input.prompt();
for await (const line of input) {
  if (line.trim() === '') break;
  // A refused or failed message, and a lost connection, ends nothing: the next one may be possible.
  await ask(agentId, line).catch((cause: unknown) => {
    if (!(cause instanceof AgentServiceError)) throw cause;
    console.log(isApiError(cause) ? `${cause.code}: ${cause.message}` : cause.message);
  });
  // Input that is a file may have ended during the answer.
  if (isOpen) input.prompt();
}
input.close();
