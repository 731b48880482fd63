import { Metadata } from '@grpc/grpc-js';

/**
 * The stream that carries the calls between two processes. It is no method of a service, so that no proto describes it. Replicas of
 * other versions know it by this name.
 */
export const callStreamPath = '/agentservice.v1.Exchange/Open';

/** Metadata as JSON: values of names that end in `-bin` are base64. */
type MetadataRecord = Readonly<Record<string, string>>;

/** A message from a client: a call, or the end of its interest in one. */
export interface RequestHeader {
  readonly id: number;
  /** Absent where the client no longer waits for the call. */
  readonly path?: string;
  readonly timeLeftMs?: number;
  readonly metadata?: MetadataRecord;
}

/** A message from a server: the outcome of a call, or the announcement that it takes no more calls on this stream. */
export interface ResponseHeader {
  readonly id?: number;
  /** A gRPC status; absent for a success. */
  readonly code?: number;
  readonly details?: string;
  readonly metadata?: MetadataRecord;
}

const lengthBytes = 4;
const noBytes = Buffer.alloc(0);

/** The lengths of header and body, the header in JSON, then the bytes of the request or response. */
export function encodeFrame(header: RequestHeader | ResponseHeader, body: Uint8Array = noBytes): Buffer {
  const text = JSON.stringify(header);
  const headerBytes = Buffer.byteLength(text);
  const start = 2 * lengthBytes;
  const frame = Buffer.allocUnsafe(start + headerBytes + body.length);
  frame.writeUInt32LE(headerBytes);
  frame.writeUInt32LE(body.length, lengthBytes);
  frame.write(text, start);
  frame.set(body, start + headerBytes);
  return frame;
}

export interface Frame<Header> {
  readonly header: Header;
  readonly body: Buffer;
}

/** The frames of one message. Throws where the bytes are none. */
export function decodeFrames<Header extends RequestHeader | ResponseHeader>(message: Buffer): Frame<Header>[] {
  const frames: Frame<Header>[] = [];
  let at = 0;
  while (at < message.length) {
    const start = at + 2 * lengthBytes;
    const middle = start + message.readUInt32LE(at);
    const end = middle + message.readUInt32LE(at + lengthBytes);
    if (end > message.length) throw new RangeError('a frame is longer than its message');
    const header: unknown = JSON.parse(message.toString('utf8', start, middle));
    if (typeof header !== 'object' || header === null) throw new TypeError('a header is no object');
    frames.push({ header: header as Header, body: message.subarray(middle, end) });
    at = end;
  }
  return frames;
}

/** Frames are joined up to this size; a larger one goes alone. */
const maxJoinedBytes = 256 * 1024;

/** Writes frames in order: those that come while a message is being written make the next one. */
export class FrameWriter {
  readonly #write: (message: Buffer, onWritten: () => void) => void;
  #waiting: Buffer[] = [];
  #isWriting = false;
  #end: (() => void) | undefined;

  constructor(write: (message: Buffer, onWritten: () => void) => void) {
    this.#write = write;
  }

  /** Calls `end` after the frames that wait, if there are any. */
  finish(end: () => void): void {
    if (this.#isWriting) this.#end = end;
    else end();
  }

  add(frame: Buffer): void {
    this.#waiting.push(frame);
    if (!this.#isWriting) this.#writeNext();
  }

  #writeNext(): void {
    let bytes = 0;
    const end = this.#waiting.findIndex((frame, index) => {
      bytes += frame.length;
      return index > 0 && bytes > maxJoinedBytes;
    });
    const frames = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
    const [first, ...more] = frames;
    this.#isWriting = first !== undefined;
    if (first) this.#write(more.length === 0 ? first : Buffer.concat(frames), () => this.#writeNext());
    else this.#end?.();
  }
}

const isBinary = (name: string): boolean => name.endsWith('-bin');

export function toRecord(metadata: Metadata): MetadataRecord {
  const record: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata.getMap()))
    record[name] = typeof value === 'string' ? value : value.toString('base64');
  return record;
}

export function fromRecord(record: MetadataRecord = {}): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(record)) metadata.set(name, isBinary(name) ? Buffer.from(value, 'base64') : value);
  return metadata;
}
