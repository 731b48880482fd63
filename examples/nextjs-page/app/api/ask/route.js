import { createClient, isApiError, streamAnswer } from '@agent-service/client';

// Next.js reads them when a request comes, not when it builds.
const settings = () => {
  const { AGENT_SERVICE_URL: baseUrl = 'http://127.0.0.1:8080', AGENT_SERVICE_KEY: auth = '', AGENT_ID: agentId = '' } = process.env;
  return { client: createClient({ baseUrl, auth }), agentId };
};

/** Sends the question with the key of the server, and the text of the answer back as it comes. A real page signs its users in first. */
export async function POST(request) {
  const { question } = await request.json().catch(() => ({}));
  if (typeof question !== 'string' || question === '' || question.length > 2000)
    return new Response('a question is needed', { status: 400 });
  const { client, agentId } = settings();
  const events = streamAnswer(client, agentId, { message: question }, { signal: request.signal });
  try {
    // Refusals come before the first event: they become the status of the response.
    const first = await events.next();
    return new Response(ReadableStream.from(texts(first, events)).pipeThrough(new TextEncoderStream()), {
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
    });
  } catch (cause) {
    if (isApiError(cause)) return new Response(cause.message, { status: cause.status });
    return new Response('the service cannot be reached', { status: 502 });
  }
}

async function* texts(first, events) {
  let sent = 0;
  for (let { value: event, done } = first; !done; { value: event, done } = await events.next()) {
    // A further attempt begins its text again, and what was sent cannot be taken back.
    if (event.type === 'started' && sent > 0) yield '\n(again)\n';
    if (event.type === 'started') sent = 0;
    if (event.content.length > sent) yield event.content.slice(sent);
    sent = event.content.length;
  }
}
