import type { FailureKind } from '@agent-service/work';
import { ServiceError } from './service-error.ts';

const away: readonly unknown[] = ['unavailable', 'deadline_exceeded', 'cancelled'];

/** Decides if a batch's failed call may succeed for single items: it was too large, or refused because of one, unless the service is away. */
export const judgeCall = (cause: unknown): FailureKind => (away.includes(ServiceError.from(cause).code) ? 'all' : 'item');
