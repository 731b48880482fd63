import { EventEmitter } from 'node:events';
import {
  type ServiceError as GrpcError,
  type handleBidiStreamingCall,
  type Metadata,
  type Server,
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { callStreamPath, decodeFrames, encodeFrame, type Frame, FrameWriter, fromRecord, type RequestHeader, toRecord } from './frames.ts';

/** A call as handlers see it, whichever way it came. */
export interface IncomingCall<Request> {
  readonly metadata: Metadata;
  readonly request: Request;
  readonly cancelled: boolean;
  getDeadline(): Date | number;
  on(event: 'cancelled', listener: () => void): unknown;
}

export type Reply<Response> = (error: Partial<GrpcError> | null, response?: Response | null, trailer?: Metadata) => void;

export type Handle<Request, Response> = (call: IncomingCall<Request>, reply: Reply<Response>) => void;

/** The methods that a server serves over call streams. */
export interface StreamedMethod {
  readonly deserialize: (bytes: Buffer) => unknown;
  readonly serialize: (response: object) => Buffer;
  readonly handle: Handle<unknown, object>;
}

const asIs = (bytes: Buffer): Buffer => bytes;

const definition: ServiceDefinition = {
  Open: {
    path: callStreamPath,
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
};

type Stream = ServerDuplexStream<Buffer, Buffer>;

/** Serves the methods, by their paths, over call streams. `close` lets the clients end their streams, each after its calls under way. */
export function serveCallStreams(server: Server, methods: ReadonlyMap<string, StreamedMethod>): { close(): void } {
  const writers = new Set<FrameWriter>();
  let isClosing = false;
  const open: handleBidiStreamingCall<Buffer, Buffer> = (stream) => {
    const writer = new FrameWriter((message, onWritten) => stream.write(message, onWritten));
    writers.add(writer);
    stream.on('close', () => writers.delete(writer));
    serveStream(stream, writer, methods);
    if (isClosing) writer.add(encodeFrame({}));
  };
  server.addService(definition, { Open: open });
  return {
    close() {
      isClosing = true;
      for (const writer of writers) writer.add(encodeFrame({}));
    },
  };
}

function serveStream(stream: Stream, writer: FrameWriter, methods: ReadonlyMap<string, StreamedMethod>): void {
  const calls = new Map<number, StreamedCall>();
  let hasEnded = false;
  const endWhenDone = () => {
    if (hasEnded && calls.size === 0) writer.finish(() => stream.end());
  };
  const cancelAll = () => {
    for (const call of calls.values()) call.cancel();
    calls.clear();
  };

  function receive({ header, body }: Frame<RequestHeader>): void {
    const { id, path } = header;
    if (path === undefined) {
      calls.get(id)?.cancel();
      return;
    }
    const method = methods.get(path);
    const reply = (bytes: Buffer) => {
      // The stream of this call is lost, so no answer is written.
      if (!calls.delete(id)) return;
      writer.add(bytes);
      endWhenDone();
    };
    const call = new StreamedCall(header);
    calls.set(id, call);
    if (method) run(method, call, body, reply);
    else reply(failure(id, { code: status.UNIMPLEMENTED, details: `there is no method ${path}` }));
  }

  stream.on('data', (message: Buffer) => {
    try {
      for (const frame of withoutAbandoned(decodeFrames<RequestHeader>(message))) receive(frame);
    } catch (cause) {
      stream.emit('error', { code: status.INVALID_ARGUMENT, details: `not a frame: ${String(cause)}` });
    }
  });
  stream.on('end', () => {
    hasEnded = true;
    endWhenDone();
  });
  stream.on('cancelled', cancelAll);
  stream.on('error', cancelAll);
}

/** A call that its caller gave up before it was read, as after a pause of this process, must not begin. */
function withoutAbandoned(frames: readonly Frame<RequestHeader>[]): readonly Frame<RequestHeader>[] {
  if (frames.length === 1) return frames;
  const abandoned = new Set(frames.flatMap(({ header }) => (header.path === undefined ? [header.id] : [])));
  return frames.filter(({ header }) => header.path === undefined || !abandoned.has(header.id));
}

class StreamedCall extends EventEmitter<{ cancelled: [] }> implements IncomingCall<unknown> {
  readonly id: number;
  readonly metadata: Metadata;
  request: unknown;
  cancelled = false;
  readonly #deadline: number;

  constructor({ id, timeLeftMs = 0, metadata }: RequestHeader) {
    super();
    this.id = id;
    this.metadata = fromRecord(metadata);
    this.#deadline = Date.now() + timeLeftMs;
  }

  getDeadline(): number {
    return this.#deadline;
  }

  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.emit('cancelled');
  }
}

function run({ deserialize, serialize, handle }: StreamedMethod, call: StreamedCall, body: Buffer, reply: (bytes: Buffer) => void): void {
  try {
    call.request = deserialize(body);
  } catch (cause) {
    reply(failure(call.id, { code: status.INTERNAL, details: `the request cannot be read: ${String(cause)}` }));
    return;
  }
  handle(call, (error, response, trailer) => reply(error ? failure(call.id, error) : success(call.id, serialize, response ?? {}, trailer)));
}

/** The client's limit of a message, without the frame around it. A larger one would end the stream with all of its calls. */
const maxResponseBytes = 8 * 1024 * 1024 - 64 * 1024;

function success(id: number, serialize: StreamedMethod['serialize'], response: object, trailer: Metadata | undefined): Buffer {
  let body: Buffer;
  try {
    body = serialize(response);
  } catch (cause) {
    return failure(id, { code: status.INTERNAL, details: `the response cannot be written: ${String(cause)}` });
  }
  if (body.length > maxResponseBytes) return failure(id, { code: status.RESOURCE_EXHAUSTED, details: 'the response is too large' });
  return encodeFrame({ id, ...(trailer && { metadata: toRecord(trailer) }) }, body);
}

const failure = (id: number, { code = status.UNKNOWN, details = '', metadata }: Partial<GrpcError>): Buffer =>
  encodeFrame({ id, code, details, ...(metadata && { metadata: toRecord(metadata) }) });
