export type HealthStatus = 'healthy' | 'failing' | 'disabled';

/** The health of a webhook since its last success. */
export interface Health {
  readonly status: HealthStatus;
  /** When it began to fail; null while healthy. */
  readonly failingSince: number | null;
  /** The first failure after the last success. */
  readonly firstFailureAt: number | null;
  /** How many different events have failed since then. */
  readonly failedEvents: number;
}

export type HealthEvent =
  | { kind: 'succeeded' }
  | {
      kind: 'failed';
      at: number;
      /** When the previous attempt failed, of the same delivery or of the one that it repeats. */
      previousFailureAt: number | null;
      /** The schedule has no further attempt. */
      last: boolean;
    }
  | { kind: 'gone'; at: number }
  /** A caller set active to true. */
  | { kind: 'enabled' };

export const disabledAfterMs = 7 * 24 * 3_600_000;
export const disabledAfterEvents = 3;

export const healthy: Health = { status: 'healthy', failingSince: null, firstFailureAt: null, failedEvents: 0 };

/** The health after an event. A disabled webhook stays disabled until a caller enables it. */
export function nextHealth(health: Health, event: HealthEvent): Health {
  if (event.kind === 'enabled') return healthy;
  if (health.status === 'disabled') return health;
  switch (event.kind) {
    case 'succeeded':
      return healthy;
    case 'gone':
      return {
        ...health,
        status: 'disabled',
        failingSince: health.failingSince ?? event.at,
        firstFailureAt: health.firstFailureAt ?? event.at,
      };
    case 'failed':
      return afterFailure(health, event);
  }
}

function afterFailure(health: Health, { at, previousFailureAt, last }: Extract<HealthEvent, { kind: 'failed' }>): Health {
  const firstFailureAt = health.firstFailureAt ?? at;
  const counted = health.firstFailureAt !== null && previousFailureAt !== null && previousFailureAt >= health.firstFailureAt;
  const failedEvents = health.failedEvents + (counted ? 0 : 1);
  const failing = health.status === 'failing' || last;
  const disabled = at - firstFailureAt >= disabledAfterMs && failedEvents >= disabledAfterEvents;
  return {
    status: disabled ? 'disabled' : failing ? 'failing' : 'healthy',
    failingSince: failing || disabled ? (health.failingSince ?? at) : null,
    firstFailureAt,
    failedEvents,
  };
}
