import type { FailureKind } from '@agent-service/work';
import { ServiceError } from './service-error.ts';

const away: readonly unknown[] = ['unavailable', 'deadline_exceeded', 'cancelled'];

/** What a batch's failed call says about its items: too large for one message, or refused for one item's sake, unless the service is away. */
export const judgeCall = (cause: unknown): FailureKind => (away.includes(ServiceError.from(cause).code) ? 'all' : 'item');
