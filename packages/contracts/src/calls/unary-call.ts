import {
  type ChannelInterface,
  type ServiceError as GrpcError,
  Metadata,
  type MethodDefinition,
  type StatusObject,
  status,
} from '@grpc/grpc-js';

export type UnaryMethod = Pick<MethodDefinition<object, object>, 'path' | 'responseDeserialize'>;

export interface UnaryRequest {
  /** The serialized request. */
  readonly body: Buffer;
  readonly metadata: Metadata;
  /** By the time of day, from which the library counts; it sends what is left. */
  readonly deadline: number;
}

export interface UnaryListener {
  readonly onHeaders?: (headers: Metadata) => void;
  /** Called once. */
  readonly onEnd: (error: GrpcError | null, response: object | undefined, trailers: Metadata) => void;
}

/**
 * Sends one request on a channel. The library's own client does the same, but records a stack, an emitter and two interceptors for each
 * call, which costs as much as signing it. Throws if the channel is closed.
 */
export function startUnaryCall(
  channel: ChannelInterface,
  { path, responseDeserialize }: UnaryMethod,
  { body, metadata, deadline }: UnaryRequest,
  { onHeaders, onEnd }: UnaryListener,
): { cancel(): void } {
  const call = channel.createCall(path, deadline, undefined, null, undefined);
  let response: object | undefined;
  let fault: StatusObject | undefined;
  call.start(metadata, {
    onReceiveMetadata: (received) => onHeaders?.(received),
    onReceiveMessage(message: Buffer) {
      try {
        response = responseDeserialize(message);
      } catch (cause) {
        fault = failure(`The response cannot be read: ${String(cause)}`);
        call.cancelWithStatus(fault.code, fault.details);
      }
    },
    onReceiveStatus(received) {
      const ended = fault ?? (received.code === status.OK && !response ? failure('The response has no message.') : received);
      if (ended.code === status.OK) onEnd(null, response, received.metadata);
      else onEnd(errorOf(path, ended), undefined, received.metadata);
    },
  });
  call.startRead();
  call.sendMessageWithContext({}, body);
  call.halfClose();
  return { cancel: () => call.cancelWithStatus(status.CANCELLED, 'Cancelled on client') };
}

const failure = (details: string): StatusObject => ({ code: status.INTERNAL, details, metadata: new Metadata() });

const errorOf = (path: string, { code, details, metadata }: StatusObject): GrpcError =>
  Object.assign(new Error(`${path}: ${code} ${status[code]}: ${details}`), { code, details, metadata });
