import { type ErrorCode, ServiceError } from '@agent-service/contracts';
import type { Refusal, Result } from '../domain/operations.ts';

/** A refusal as it travels: in an item's result, where the other items of the call may have been granted. */
export interface RefusalMessage {
  code: ErrorCode;
  shortage: Refusal['shortage'];
}

const codeOf = ({ code }: Refusal): ErrorCode => (code === 'invalid_operation' ? 'invalid_request' : code);

export const toRefusal = (refusal: Refusal): RefusalMessage => ({ code: codeOf(refusal), shortage: refusal.shortage });

/** What an item gets whose operation was not decided at all. */
export const toFailure = (cause: unknown): RefusalMessage => ({ code: ServiceError.from(cause).code, shortage: null });

/** The refusal of a call's only operation, as the error of the call. */
export function refusalError(refusal: Refusal): ServiceError {
  return new ServiceError(codeOf(refusal), { details: { ...refusal.shortage } });
}

/** The success of this kind, or the refusal thrown. */
export function expect<Kind extends (Result & { ok: true })['kind']>(
  result: Result,
  kind: Kind,
): Extract<Result, { ok: true; kind: Kind }> {
  if (!result.ok) throw refusalError(result);
  if (result.kind !== kind) throw new Error(`a ${kind} was answered with a ${result.kind}`);
  return result as Extract<Result, { ok: true; kind: Kind }>;
}
