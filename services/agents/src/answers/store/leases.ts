import type { Sql } from '@agent-service/store';
import { leaseMs, unbegunMs } from '../domain/times.ts';
import type { AnswerKey, AttemptKey } from '../keys.ts';
import { at, attemptColumns, inLockOrder, itemsByKey, sameKey, select, stateAfter, statesFor, toParameter } from './sql.ts';

/** The rows of these attempts. An attempt has a lease only until the deadline. */
const leased = (event: 'renew' | 'return') => `
  leased as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor(event)} and a.attempt = i.attempt and a.deadline > ${at('$2')}
    ${inLockOrder('a')} for update of a)`;

const renew = `
  with ${itemsByKey(attemptColumns)}, ${leased('renew')}
  update answers a set due = least(${at(`$2 + ${leaseMs}`)}, a.deadline) from leased l where ${sameKey('a', 'l')}
  returning a.organization_id as "organizationId", a.environment, a.id, a.attempt`;

/** Renews leases, and returns those that it renewed; the others are lost. An expired lease is renewed while the answer has not been redispatched. */
export const renewLeases = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<AttemptKey[]> =>
  sql<AttemptKey>(renew, [toParameter(attemptColumns, attempts), now]);

/** An answer that has got another job. */
export interface RedispatchedRow extends AnswerKey {
  dispatches: number;
  priority: number;
  traceparent: string;
  /** It has lost a lease, so it does not run in the worker's own process. */
  apart: boolean;
  /** It has lost exactly one lease, so it may share its process with others like it. */
  shared: boolean;
  lostLeases: number;
}

export const selectRedispatched = (alias: string): string =>
  select({
    organizationId: `${alias}.organization_id`,
    environment: `${alias}.environment`,
    id: `${alias}.id`,
    dispatches: `${alias}.dispatches`,
    priority: `${alias}.priority`,
    traceparent: `${alias}.traceparent`,
    apart: `${alias}.lost_leases > 0`,
    shared: `${alias}.lost_leases = 1`,
    lostLeases: `${alias}.lost_leases`,
  });

/** The changes that give answer `a` another job, at time $2. */
export const redispatched = (event: 'return' | 'redispatch'): string => `
  state = ${stateAfter(event)}, claim = '', dispatches = a.dispatches + 1, dispatched_at = ${at('$2')},
  due = least(${at(`$2 + ${unbegunMs}`)}, a.deadline)`;

// An attempt that its worker could return did not end its process: lost leases are counted in a row.
const returnAttempts = `
  with ${itemsByKey(attemptColumns)}, ${leased('return')}
  update answers a set ${redispatched('return')}, lost_leases = 0 from leased l where ${sameKey('a', 'l')}
  returning ${selectRedispatched('a')}`;

/** Takes answers back from a worker that stops. */
export const returnAnswers = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(returnAttempts, [toParameter(attemptColumns, attempts), now]);

const loseLeases = `
  with ${itemsByKey(attemptColumns)}, ${leased('return')}
  update answers a set ${redispatched('return')}, lost_leases = a.lost_leases + 1 from leased l where ${sameKey('a', 'l')}
  returning ${selectRedispatched('a')}`;

/** Takes answers from a process that has died. */
export const takeFromDead = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(loseLeases, [toParameter(attemptColumns, attempts), now]);

export const leaseStatements = { renew, returnAttempts, loseLeases };
