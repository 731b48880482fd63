import type { SpanDescription, SpanEnd } from '@agent-service/runtime';
import { status } from '@grpc/grpc-js';
import { ServiceError } from '../errors/service-error.ts';

/** The codes that the semantic conventions of OpenTelemetry count as failures of a server. With every other code it refuses what the caller sent. */
const serverFailures: ReadonlySet<status> = new Set([
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

/** `package.Service/Method`. A path has a slash before that. */
export const spanName = (path: string): string => path.slice(1);

/** The span of a call that was received. */
export function describeServed(path: string, requestId: string, end: SpanEnd<unknown>): SpanDescription {
  const { attributes, isFailed } = describe(path, end, (code) => serverFailures.has(code));
  return { attributes: { ...attributes, 'agent_service.request_id': requestId }, isFailed };
}

/** The span of a call that was sent. For its client each code but OK is a failure. */
export const describeSent = (path: string, end: SpanEnd<unknown>): SpanDescription => describe(path, end, (code) => code !== status.OK);

function describe(path: string, end: SpanEnd<unknown>, isFailure: (code: status) => boolean): SpanDescription {
  const error = 'cause' in end ? ServiceError.from(end.cause) : undefined;
  const code = error?.definition.grpc ?? status.OK;
  const isFailed = isFailure(code);
  const rpc = { 'rpc.system.name': 'grpc', 'rpc.method': spanName(path), 'rpc.status_code': status[code] };
  return { attributes: isFailed && error ? { ...rpc, 'error.type': error.code } : rpc, isFailed };
}
