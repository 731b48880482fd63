/** One event of a stream. */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
  /** The last id that the stream has named, also by an earlier event. */
  readonly id: string;
}

/** Longer than the largest answer. A stream without ends of lines must not fill the memory. */
const maxBufferedCharacters = 16 * 1024 * 1024;

/**
 * Reads server-sent events as the HTML standard says: lines may end with LF, CR or CRLF, also where a chunk ends between the two, the fields of an
 * event are gathered until an empty line, and an event that the end of the stream cuts off is dropped. `onChunk` is told of every sign of life.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onChunk: () => void = () => undefined,
): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk();
      yield* parser.take(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Ends the connection where the caller has left the loop.
    await reader.cancel().catch(() => undefined);
  }
}

class EventParser {
  #buffered = '';
  #event = '';
  #data: string[] = [];
  #id = '';

  /** The events that this text completes. */
  take(chunk: string): ServerSentEvent[] {
    this.#buffered += chunk;
    const events: ServerSentEvent[] = [];
    let from = 0;
    for (let end = endOfLine(this.#buffered, from); end; end = endOfLine(this.#buffered, from)) {
      const complete = this.#readLine(this.#buffered.slice(from, end.at));
      if (complete) events.push(complete);
      from = end.next;
    }
    this.#buffered = this.#buffered.slice(from);
    if (this.#buffered.length > maxBufferedCharacters) throw new TypeError('A line of the event stream is too long.');
    return events;
  }

  #readLine(line: string): ServerSentEvent | undefined {
    if (line === '') return this.#complete();
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }

  #complete(): ServerSentEvent | undefined {
    const complete = this.#data.length > 0 ? { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id } : undefined;
    this.#event = '';
    this.#data = [];
    return complete;
  }
}

/** A CR at the very end may be the first half of a CRLF, so it waits for the next chunk. */
function endOfLine(text: string, from: number): { at: number; next: number } | undefined {
  const ends = /[\r\n]/g;
  ends.lastIndex = from;
  const at = ends.exec(text)?.index;
  if (at === undefined) return undefined;
  if (text[at] === '\n') return { at, next: at + 1 };
  if (at === text.length - 1) return undefined;
  return { at, next: text[at + 1] === '\n' ? at + 2 : at + 1 };
}
