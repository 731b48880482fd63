import { request as open } from 'node:http';

interface ServerSentEvent {
  readonly event: string;
  /** Absent where the stream has no ids. */
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads events of every shape
  readonly data: any;
}

export interface EventStream {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /** The events that have arrived. */
  readonly events: ServerSentEvent[];
  readonly comments: string[];
  /** Resolves when the server has ended the stream, rejects when the connection ends before. */
  readonly ended: Promise<void>;
  /** Waits until this many events have arrived. */
  until(count: number): Promise<void>;
  leave(): void;
}

/** Sends a message and reads the stream of its answer. */
export function stream(url: string, token: string, body: object, headers: Record<string, string> = {}): Promise<EventStream> {
  const text = JSON.stringify(body);
  const all = {
    authorization: `Bearer ${token}`,
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const request = open(url, { method: 'POST', headers: all, agent: false }, (response) => {
      const events: ServerSentEvent[] = [];
      const comments: string[] = [];
      const waiting = new Set<() => void>();
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const blocks = `${rest}${chunk}`.split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) read(block, events, comments);
        for (const check of [...waiting]) check();
      });
      const ended = new Promise<void>((end, fail) => {
        response.on('end', end);
        response.on('error', fail);
      });
      // A test that disconnects does not wait for the end.
      ended.catch(() => undefined);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        events,
        comments,
        ended,
        until: (count) =>
          new Promise((done) => {
            const check = () => {
              if (events.length < count) return;
              waiting.delete(check);
              done();
            };
            waiting.add(check);
            check();
          }),
        leave: () => request.destroy(),
      });
    });
    request.on('error', reject);
    request.end(text);
  });
}

function read(block: string, events: ServerSentEvent[], comments: string[]): void {
  if (block.startsWith(':')) {
    comments.push(block);
    return;
  }
  const fields = Object.fromEntries(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
  const id = fields['id'];
  events.push({ event: fields['event'] ?? '', ...(id !== undefined && { id }), data: JSON.parse(fields['data'] ?? 'null') });
}
