import { type ServiceError as GrpcError, Metadata, status } from '@grpc/grpc-js';
import { type ErrorCode, isErrorCode } from '../errors/error-codes.ts';
import { cutText, ServiceError } from '../errors/service-error.ts';
import type { IdempotencyKey } from './call-context.ts';

/** Names of the metadata that our calls carry. */
export const headers = {
  caller: 'x-caller',
  /** The gateway's signed statement of the principal, for calls that another service makes. */
  voucher: 'x-voucher',
  /** The challenge under which the next call to this replica must be signed. */
  challenge: 'x-challenge',
  requestId: 'x-request-id',
  /** The sender's name and monotonic clock: gRPC counts time from when the server reads the call, which may be long after. */
  sent: 'x-sent',
  /** Says that the call did not begin: by the server's measure its deadline had passed before it was read. */
  late: 'x-late',
  /** The server's time, with each health answer. */
  time: 'x-time',
  /** With a health answer: the process serves, but worse than another replica may. */
  impaired: 'x-impaired',
  idempotency: 'x-idempotency-bin',
  traceparent: 'traceparent',
  error: 'x-error-bin',
  replayed: 'x-replayed',
} as const;

export function text(metadata: Metadata, name: string): string | undefined {
  const value = metadata.get(name)[0];
  return typeof value === 'string' ? value : undefined;
}

function json(metadata: Metadata, name: string): unknown {
  const value = metadata.get(name)[0];
  return Buffer.isBuffer(value) ? JSON.parse(value.toString()) : undefined;
}

const toJson = (value: unknown) => Buffer.from(JSON.stringify(value));

export const writeIdempotency = (metadata: Metadata, key: IdempotencyKey) => metadata.set(headers.idempotency, toJson(key));

/** The key of an effect as a signature covers it. */
export function idempotencyText(metadata: Metadata): string {
  const value = metadata.get(headers.idempotency)[0];
  return Buffer.isBuffer(value) ? value.toString() : '';
}

export const readIdempotency = (metadata: Metadata) => json(metadata, headers.idempotency) as IdempotencyKey | undefined;

/** Refuses a call that was signed under no challenge of this process, and says under which the caller may sign it again. */
export function staleCallError(challenge: string): Partial<GrpcError> {
  const metadata = new Metadata();
  metadata.set(headers.challenge, challenge);
  return { code: status.UNAUTHENTICATED, details: 'The call is not signed under a present challenge.', metadata };
}

/** The challenge that a refusal names, where that is why the call was refused. */
export const challengeOf = ({ code, metadata }: GrpcError): string | undefined =>
  code === status.UNAUTHENTICATED && metadata ? text(metadata, headers.challenge) : undefined;

/** The deadline of a call had passed before it was read, so it did not begin. */
export class LateCallError extends ServiceError<'deadline_exceeded'> {
  constructor() {
    super('deadline_exceeded');
  }
}

/** True if the server refused the call because it came too late. */
export const isLate = ({ metadata }: GrpcError): boolean => (metadata?.get(headers.late).length ?? 0) > 0;

/** Percent-encoding makes three bytes of one. */
const maxStatusBytes = 400;

/** Our error in the form that grpc-js sends: a status for clients of any kind, and the whole error in a trailer for our own clients. */
export function toGrpcError(error: ServiceError): Partial<GrpcError> {
  const metadata = new Metadata();
  metadata.set(headers.error, toJson({ code: error.code, message: error.message, param: error.param, details: error.details }));
  if (error instanceof LateCallError) metadata.set(headers.late, 'true');
  return { code: error.definition.grpc, details: cutText(error.message, maxStatusBytes), metadata };
}

const transportCodes: Partial<Record<status, ErrorCode>> = {
  [status.UNAVAILABLE]: 'unavailable',
  [status.DEADLINE_EXCEEDED]: 'deadline_exceeded',
  [status.CANCELLED]: 'cancelled',
  [status.UNAUTHENTICATED]: 'internal',
};

/** True if a failure came from the server, and not from the connection. */
export const hasAnswered = ({ code, metadata }: GrpcError): boolean =>
  !(code in transportCodes) || (metadata?.get(headers.error).length ?? 0) > 0;

type WireError = Pick<ServiceError, 'message' | 'param' | 'details'> & { readonly code: unknown };

/** The error of a failed call: the service's own, or one for the failed transport. */
export function fromGrpcError(cause: GrpcError): ServiceError {
  const sent = cause.metadata ? (json(cause.metadata, headers.error) as WireError | undefined) : undefined;
  if (sent && isErrorCode(sent.code)) {
    return new ServiceError(sent.code, { message: sent.message, param: sent.param ?? undefined, details: sent.details, cause });
  }
  return new ServiceError(transportCodes[cause.code] ?? 'internal', { cause });
}
