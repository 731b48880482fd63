/** How long a lease lasts without being renewed. */
export const leaseMs = 15_000;
/** After this many lost leases in a row an answer fails: it may be the reason why its workers died. */
export const maxLostLeases = 3;
/** The queue is asked about the job of a dispatched answer that no worker has begun for this long. */
export const unbegunMs = 5_000;
/** The longest time between two such checks; each waits as long as the job has waited already. */
export const maxUnbegunMs = 20_000;
/** A job that the queue still knows gets a second one after this: the worker that took it may be dead. */
export const doubtfulMs = 20_000;
/** The process that owes another service something has this long before a sweep of any process takes over. */
export const pendingMs = 10_000;
/** The longest time between reading agents and conversations and the commit; far below the time after which an overdue hold is released. */
export const acceptanceLimitMs = 15_000;
/** How long the id of a released hold is kept from being accepted; longer than an acceptance takes. */
export const unusedHoldMs = 30_000;
/** How far the clock of the process that made an answer's id may be off. */
export const clockToleranceMs = 60_000;
/** How long an Idempotency-Key names its answer. */
export const keyRetentionMs = 24 * 3_600_000;
/** After this process or its database was away for a while, workers get this long to renew their leases. */
export const healthyMs = 6_000;
