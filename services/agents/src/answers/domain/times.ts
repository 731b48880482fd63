/** How long a worker may be silent about an answer before another takes it up. */
export const leaseMs = 15_000;
/** After so many lost leases in a row an answer fails: it may be what its workers died of. */
export const mostLostLeases = 3;
/** A job that nobody has begun after this is asked for at the queue, and added again where it is lost. */
export const unbegunMs = 5_000;
/** The longest time between two such looks: each waits as long as the job has waited already. */
export const longestUnbegunMs = 20_000;
/** A job that the queue still claims to know gets a second one after this: the worker that took it may be dead. */
export const doubtfulMs = 20_000;
/** How long whoever brought a duty about has it to himself. */
export const dutyMs = 10_000;
/** Between the look at agents and conversations and the commit; far below the time after which an overdue hold is ended. */
export const acceptanceLimitMs = 15_000;
/** How long an id whose hold was given back is kept from being accepted; longer than an acceptance can be under way. */
export const disownedMs = 30_000;
/** How far the clock of whoever made an answer's id may be off. */
export const clockToleranceMs = 60_000;
/** An Idempotency-Key names its answer this long. */
export const keyKeptMs = 24 * 3_600_000;
/** Workers renew leases first when this process or its database was away. */
export const steadyMs = 6_000;
