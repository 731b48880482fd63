import {
  type ChannelInterface,
  type ServiceError as GrpcError,
  Metadata,
  type MethodDefinition,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { callStreamPath, decodeFrames, encodeFrame, FrameWriter, fromRecord, type ResponseHeader, toRecord } from './frames.ts';

/** Called once with the outcome of a call. */
export type Answered = (error: GrpcError | null, response: object | undefined, trailer: Metadata) => void;

interface CarriedCall {
  readonly method: Pick<MethodDefinition<object, object>, 'path' | 'responseDeserialize'>;
  readonly body: Buffer;
  readonly metadata: Metadata;
  /** By the monotonic clock. */
  readonly expiresAt: number;
}

/** Larger requests get a stream of their own, so that others do not wait behind their bytes. */
const maxBodyBytes = 64 * 1024;

/**
 * The calls of one client to one replica, over one stream that stays open: opening a stream for each call costs both processes more
 * than the rest of the call. A stream that is lost fails its calls as unavailable, and the next call opens another.
 */
export class CallStream {
  readonly #channel: ChannelInterface;
  #connection: Connection | undefined;
  #isSupported = true;
  #isClosed = false;

  constructor(channel: ChannelInterface) {
    this.#channel = channel;
  }

  /** False for a large request, and towards a replica of a version before call streams. */
  carries(body: Buffer): boolean {
    return this.#isSupported && body.length <= maxBodyBytes;
  }

  /** Throws where the channel is closed. */
  send(call: CarriedCall, answered: Answered): { cancel(): void } {
    if (this.#isClosed) throw new Error('the client is closed');
    if (!this.#connection?.isOpen) {
      this.#connection = new Connection(this.#channel, () => {
        this.#isSupported = false;
      });
    }
    return this.#connection.send(call, answered);
  }

  /** Ends the stream after the calls under way. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.finish();
  }
}

const noBytes = Buffer.alloc(0);

interface PendingCall {
  readonly timer: NodeJS.Timeout;
  readonly conclude: (header: ResponseHeader, body: Buffer) => void;
  readonly fail: (code: status, details: string) => void;
}

/** One stream with the calls that were sent over it. */
class Connection {
  /** Takes further calls. */
  isOpen = true;
  readonly #stream: ReturnType<ChannelInterface['createCall']>;
  readonly #writer: FrameWriter;
  readonly #pending = new Map<number, PendingCall>();
  #lastId = 0;
  #hasEnded = false;

  constructor(channel: ChannelInterface, onUnsupported: () => void) {
    const stream = channel.createCall(callStreamPath, Number.POSITIVE_INFINITY, undefined, null, undefined);
    this.#stream = stream;
    this.#writer = new FrameWriter((message, callback) => stream.sendMessageWithContext({ callback }, message));
    stream.start(new Metadata(), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (message: Buffer) => {
        this.#receive(message);
        stream.startRead();
      },
      onReceiveStatus: ({ code, details }: StatusObject) => {
        if (code === status.UNIMPLEMENTED) onUnsupported();
        this.#lose(code === status.UNIMPLEMENTED ? code : status.UNAVAILABLE, details);
      },
    });
    stream.startRead();
  }

  send(call: CarriedCall, answered: Answered): { cancel(): void } {
    this.#lastId += 1;
    const id = this.#lastId;
    const timeLeftMs = Math.max(0, call.expiresAt - performance.now());
    const timer = setTimeout(() => this.#abandon(id, status.DEADLINE_EXCEEDED, 'the deadline has passed'), timeLeftMs);
    this.#pending.set(id, {
      timer,
      conclude: (header, body) => conclude(call, answered, header, body),
      fail: (code, details) => conclude(call, answered, { code, details }, noBytes),
    });
    this.#writer.add(encodeFrame({ id, path: call.method.path, timeLeftMs, metadata: toRecord(call.metadata) }, call.body));
    return { cancel: () => this.#abandon(id, status.CANCELLED, 'the caller has cancelled the call') };
  }

  finish(): void {
    this.isOpen = false;
    this.#endWhenDone();
  }

  #receive(message: Buffer): void {
    for (const { header, body } of decodeFrames<ResponseHeader>(message)) {
      if (header.id === undefined) this.finish();
      else this.#take(header.id)?.conclude(header, body);
    }
  }

  /** Undefined where the call is over for its caller. */
  #take(id: number): PendingCall | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    this.#endWhenDone();
    return pending;
  }

  #endWhenDone(): void {
    if (this.isOpen || this.#hasEnded || this.#pending.size > 0) return;
    this.#hasEnded = true;
    this.#writer.finish(() => this.#stream.halfClose());
  }

  #abandon(id: number, code: status, details: string): void {
    if (!this.#pending.has(id)) return;
    this.#writer.add(encodeFrame({ id }));
    this.#take(id)?.fail(code, details);
  }

  #lose(code: status, details: string): void {
    this.isOpen = false;
    const lost = [...this.#pending.values()];
    this.#pending.clear();
    for (const { timer, fail } of lost) {
      clearTimeout(timer);
      fail(code, details);
    }
  }
}

function conclude({ method }: CarriedCall, answered: Answered, { code, details, metadata }: ResponseHeader, body: Buffer): void {
  const trailer = fromRecord(metadata);
  if (code !== undefined) answered(grpcError(code, details, trailer), undefined, trailer);
  else {
    const response = tryTo(() => method.responseDeserialize(body));
    if (response instanceof Error)
      answered(grpcError(status.INTERNAL, `the response cannot be read: ${response.message}`, trailer), undefined, trailer);
    else answered(null, response, trailer);
  }
}

function tryTo<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause));
  }
}

const grpcError = (code: status, details = '', metadata: Metadata): GrpcError =>
  Object.assign(new Error(details), { code, details, metadata });
