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
export const spanNameOf = (path: string): string => path.slice(1);

/** The span of a call that was received. */
export function describeServed(name: string, requestId: string, end: SpanEnd<unknown>): SpanDescription {
  const described = describe(name, end, (code) => serverFailures.has(code));
  return { ...described, attributes: { ...described.attributes, 'agent_service.request_id': requestId } };
}

/** The span of a call that was sent. For its client each code but OK is a failure. */
export const describeSent = (name: string, end: SpanEnd<unknown>): SpanDescription => describe(name, end, (code) => code !== status.OK);

function describe(name: string, end: SpanEnd<unknown>, isFailure: (code: status) => boolean): SpanDescription {
  const error = 'cause' in end ? ServiceError.from(end.cause) : undefined;
  const code = error?.definition.grpc ?? status.OK;
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name, 'rpc.status_code': status[code] };
  return { attributes, isFailed: isFailure(code), errorType: error?.code };
}
