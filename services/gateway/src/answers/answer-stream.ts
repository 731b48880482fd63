import { createHash, type Hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type AnswerMessage, type AnswerRecord, ServiceError } from '@agent-service/contracts';
import type { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { errorBody, type PublicError } from '@agent-service/http/replies/error-reply';
import type { StreamEnd } from '@agent-service/http/replies/reply';
import { type Reply, ReplyFilter } from '@agent-service/queues';
import { sleep } from '@agent-service/work';
import { type AnswerEvent, type AnswerEventData, toListedMessage } from '../schemas/conversation.ts';
import { type AcceptedAnswer, answerDeletedError, failureOf, runningDetails, type Waiter, waitLimitError } from './waiters.ts';

const heartbeatMs = 15_000;
/** A reader that is this far behind gets no deltas. */
const maxUnreadBytes = 256 * 1024;
/** How long a reader may take for the end, once it is written. */
const lingerMs = 30_000;
/** How long the end of an answer waits while the bytes of the organization are at their limit. */
const memoryWaitMs = 30_000;
const memoryCheckMs = 100;

interface AnswerStreamOptions {
  readonly requestId: string;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Reads the record of an answer; null if it cannot be read. Never fails. */
  readonly readRecord: (answerId: string) => Promise<AnswerRecord | null>;
  /** Counts what the readers of this organization have not read yet. */
  readonly bufferedBytes: BufferedBytes;
  readonly organizationId: string;
  readonly maxUnreadBytes?: number;
  readonly memoryWaitMs?: number;
  /** Events carry ids, with which a reader can continue after a lost connection. */
  readonly hasIds?: boolean;
  /** The position from which a reader continues. */
  readonly resumeFrom?: StreamPosition | undefined;
}

/** The part of an attempt's text that a reader has. The hash says if a later text begins with the same. */
export interface StreamPosition {
  readonly attempt: number;
  readonly length: number;
  readonly hash: string;
}

const position = /^(\d{1,4})-(\d{1,9})-([0-9a-f]{8})$/;

/** The position that an event's id names; undefined for text that is no id. */
export function parseEventId(id: string): StreamPosition | undefined {
  const [, attempt, length, hash] = position.exec(id) ?? [];
  return hash === undefined ? undefined : { attempt: Number(attempt), length: Number(length), hash };
}

/** As UTF-16, because a delta may end between the halves of a character. */
const encoding = 'utf16le';
const newTextHash = () => createHash('sha256');
const shortened = (hash: Hash) => hash.digest('hex').slice(0, 8);
const hashOf = (text: string) => shortened(newTextHash().update(text, encoding));

const idOf = (attempt: number, text: string, hash = hashOf(text)) => `${attempt}-${text.length}-${hash}`;

const isAt = ({ length, hash }: StreamPosition, content: string) => content.length >= length && hashOf(content.slice(0, length)) === hash;

/** One answer as server-sent events. Calls of the registry that arrive before the response head is written take effect after it. */
export class AnswerStream implements Waiter {
  readonly #options: Required<Omit<AnswerStreamOptions, 'resumeFrom'>>;
  /** Undefined once a newer text has begun. */
  #resumeFrom: StreamPosition | undefined;
  readonly #filter = new ReplyFilter();
  /** The hash of the text that the reader has. To hash it again for the id of each delta would cost the square of its length. */
  #textHash = newTextHash();
  readonly #onClose: (() => void)[] = [];
  /** Calls of the registry that arrived before the response head was written; undefined afterwards. */
  #beforeHead: (() => void)[] | undefined = [];
  #response: ServerResponse | undefined;
  #accepted: AcceptedAnswer = { messageId: '', conversationId: '' };
  #writtenAt = 0;
  #bytes = 0;
  /** Ends the count of the bytes that the reader has not read yet. */
  #release: (() => void) | undefined;
  #error: PublicError | undefined;
  #hasEnded = false;

  constructor(options: AnswerStreamOptions) {
    this.#options = { maxUnreadBytes, memoryWaitMs, hasIds: false, ...options };
    this.#resumeFrom = options.resumeFrom;
  }

  onClose(work: () => void): void {
    this.#onClose.push(work);
  }

  /** Writes until the answer has ended or its reader has left. */
  async writeTo(response: ServerResponse, accepted: AcceptedAnswer): Promise<StreamEnd> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#response = response;
    this.#accepted = accepted;
    response.once('finish', () => resolve(false)).once('close', () => resolve(true));
    response.on('drain', () => this.#countUnread(0));
    if (response.destroyed) resolve(true);
    // The head says that the message was accepted; a first byte lets every proxy pass it on.
    this.#comment();
    const delayed = this.#beforeHead ?? [];
    this.#beforeHead = undefined;
    for (const work of delayed) work();
    const cut = await promise;
    this.#countUnread(0);
    for (const work of this.#onClose) work();
    return { bytes: this.#bytes, error: this.#error, cut };
  }

  take(reply: Reply): void {
    if (this.#beforeHead) this.#beforeHead.push(() => this.take(reply));
    else this.#pass(reply);
  }

  interrupted(): void {
    if (this.#beforeHead) this.#beforeHead.push(() => this.#filter.interrupt());
    else this.#filter.interrupt();
  }

  end(reason: 'expired' | 'deleted'): void {
    if (this.#beforeHead) this.#beforeHead.push(() => this.end(reason));
    else if (reason === 'deleted') this.#fail(answerDeletedError(this.#accepted));
    else this.#detach();
  }

  tick(nowMs: number): void {
    if (this.#isOpen && !this.#hasEnded && nowMs - this.#writtenAt >= heartbeatMs) this.#comment();
  }

  #pass(reply: Reply): void {
    // Before the text is counted as the reader's: the ids of later events name what it has.
    if (reply.kind === 'delta' && this.#isBehind) this.#filter.interrupt();
    const next = this.#filter.take(reply);
    if (!next || !this.#isOpen || this.#hasEnded) return;
    switch (next.kind) {
      case 'started':
        // A reader who resumes has a part of this attempt's text. It gets the rest when the whole text is known.
        if (reply.kind !== 'started' && next.attempt === this.#resumeFrom?.attempt) return;
        this.#started(next.attempt);
        return;
      case 'delta':
        if (this.#options.hasIds) this.#textHash.update(next.text, encoding);
        this.#write('delta', { text: next.text, attempt: next.attempt });
        return;
      case 'tool': {
        const { name, detail, rows, durationMs, error } = next.step;
        if (!this.#isBehind)
          this.#write('tool', { name, detail, rows, duration_ms: durationMs, error: error || null, attempt: next.attempt });
        return;
      }
      case 'ended':
        this.#ended(next.message);
    }
  }

  #started(attempt: number): void {
    const { messageId, conversationId } = this.#accepted;
    this.#resumeFrom = undefined;
    this.#textHash = newTextHash();
    this.#write('started', { message_id: messageId, conversation_id: conversationId, attempt });
  }

  #ended(message: AnswerMessage): void {
    const failure = failureOf(message);
    if (failure) {
      this.#fail(failure);
      return;
    }
    this.#hasEnded = true;
    this.#complete(message).catch((cause: unknown) => this.#fail(new ServiceError('internal', { cause })));
  }

  /** Writes the whole message, as a list of messages shows it, once the bytes of the organization are below their limit. */
  async #complete(message: AnswerMessage): Promise<void> {
    const { readRecord, bufferedBytes, organizationId, memoryWaitMs, now } = this.#options;
    const record = await readRecord(this.#accepted.messageId);
    const cutAt = now() + memoryWaitMs;
    while (this.#isOpen && bufferedBytes.isFull(organizationId)) {
      if (now() >= cutAt) this.#response?.destroy();
      else await sleep(memoryCheckMs);
    }
    // The stream may have ended otherwise in the meantime. No other stream writes between the check and these lines.
    if (!this.#isOpen) return;
    const resumed = this.#resumeFrom;
    if (resumed && isAt(resumed, message.content)) this.#sendRest(resumed, message.content);
    // The `started` reply may be lost, and with it the notice that the earlier deltas are void.
    else if (this.#filter.attempt === 0 || resumed || !this.#filter.isPrefixOf(message.content)) this.#started(this.#filter.attempt || 1);
    this.#write('completed', toListedMessage({ ...message, record }), idOf(resumed?.attempt ?? this.#filter.attempt, message.content));
    this.#finish();
  }

  /** The part of the text that a reader who continued does not have. */
  #sendRest({ attempt, length }: StreamPosition, content: string): void {
    if (content.length > length) this.#write('delta', { text: content.slice(length), attempt }, idOf(attempt, content));
  }

  #fail(error: PublicError): void {
    if (!this.#isOpen) return;
    this.#error = error;
    this.#writeText('failed', errorBody(error, this.#options.requestId));
    this.#finish();
  }

  /** Ends the stream while the work continues, which is no failure for the reader. */
  #detach(): void {
    if (!this.#isOpen) return;
    this.#error = waitLimitError(this.#accepted);
    this.#write('detached', runningDetails(this.#accepted));
    this.#finish();
  }

  /** Closes the connection of a reader that does not read the end in time. */
  #finish(): void {
    const response = this.#response as ServerResponse;
    response.end();
    const timer = setTimeout(() => response.destroy(), lingerMs).unref();
    response.once('close', () => clearTimeout(timer));
  }

  get #isOpen(): boolean {
    return this.#response !== undefined && !this.#response.writableEnded && !this.#response.destroyed;
  }

  get #isBehind(): boolean {
    const { maxUnreadBytes, bufferedBytes, organizationId } = this.#options;
    const unread = this.#response?.writableLength ?? 0;
    return unread > maxUnreadBytes || (unread > 0 && bufferedBytes.isFull(organizationId));
  }

  #write<Event extends AnswerEvent>(event: Event, data: AnswerEventData<Event>, id?: string): void {
    this.#writeText(event, JSON.stringify(data), id);
  }

  #writeText(event: AnswerEvent, data: string, id = this.#id): void {
    const idLine = this.#options.hasIds && id !== undefined ? `id: ${id}\n` : '';
    this.#send(`event: ${event}\n${idLine}data: ${data}\n\n`);
  }

  /** The id of an event that adds no text; undefined where events have none. */
  get #id(): string | undefined {
    if (!this.#options.hasIds) return undefined;
    const { attempt, text } = this.#filter;
    if (!this.#resumeFrom) return idOf(attempt, text, shortened(this.#textHash.copy()));
    return `${this.#resumeFrom.attempt}-${this.#resumeFrom.length}-${this.#resumeFrom.hash}`;
  }

  #comment(): void {
    this.#send(': \n\n');
  }

  #send(text: string): void {
    if (!this.#isOpen) return;
    this.#writtenAt = this.#options.now();
    this.#bytes += Buffer.byteLength(text);
    const response = this.#response as ServerResponse;
    if (!response.write(text)) this.#countUnread(response.writableLength);
  }

  #countUnread(bytes: number): void {
    const { bufferedBytes, organizationId } = this.#options;
    this.#release?.();
    this.#release = bytes > 0 ? bufferedBytes.add(organizationId, bytes) : undefined;
  }
}
