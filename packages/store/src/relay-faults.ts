import { ServiceError } from '@agent-service/contracts';

/** Why a delivery failed: the receiver is away or busy, the message is at fault, or it can be either. */
export type Fault = 'passing' | 'message' | 'unclear';

const passingCodes = new Set(['unavailable', 'deadline_exceeded', 'cancelled', 'rate_limited', 'service_forbidden']);

/** What gRPC itself refuses before a handler runs. */
const grpc = { resourceExhausted: 8, unimplemented: 12, unauthenticated: 16 } as const;

export function faultOf(cause: unknown): Fault {
  if (!(cause instanceof ServiceError)) return 'unclear';
  if (passingCodes.has(cause.code)) return 'passing';
  if (cause.code !== 'internal') return 'message';
  const { code, details = '' } = (cause.cause ?? {}) as { code?: unknown; details?: string };
  // A message beyond the receiver's limit never fits; any other exhaustion is load.
  if (code === grpc.resourceExhausted) return /larger than max/.test(details) ? 'message' : 'passing';
  return code === grpc.unimplemented || code === grpc.unauthenticated ? 'passing' : 'unclear';
}

const longestReason = 300;

/** For operators: the kind of failure, and nothing of the message's content. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof ServiceError) {
    const { details } = (cause.cause ?? {}) as { details?: unknown };
    const transport = cause.code === 'internal' && typeof details === 'string' ? ` (${details})` : '';
    return `${cause.code}: ${cause.message}${transport}`.slice(0, longestReason);
  }
  const { name = 'Error', code } = (cause ?? {}) as { name?: string; code?: unknown };
  return `${name}${typeof code === 'string' ? ` ${code}` : ''}`.slice(0, longestReason);
}

/**
 * Attempts of a message that fails alone before it is set aside; an unclear failure may be the receiver's. `passing` failures count
 * only while the receiver takes other messages; twelve of them take 18 minutes.
 */
const attemptsOf: Record<Fault, number> = { message: 4, unclear: 20, passing: 12 };
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;

/** The pause before the next attempt after this many refusals; undefined where the message is to be set aside. */
export function pauseAfter(attempts: number, fault: Fault): number | undefined {
  if (attempts >= attemptsOf[fault]) return undefined;
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1));
}
