import type { Sql } from '@agent-service/store';
import { leaseMs, unbegunMs } from '../domain/times.ts';
import { type AttemptKey, keyItem } from '../key.ts';
import { at, keyColumns, sameKey, sought } from './text.ts';

const attempts = `${keyColumns}, attempt integer`;

const attemptItems = (keys: readonly AttemptKey[]) => JSON.stringify(keys.map((key) => ({ ...keyItem(key), attempt: key.attempt })));

/** Rows that these attempts have in hand, locked in the order of their keys. */
const held = `
  held as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state = 'running' and a.attempt = i.attempt and a.deadline > ${at('$2')}
    order by a.organization_id, a.environment, a.id for update of a)`;

const renewal = `
  with ${sought(attempts)}, ${held}
  update answers a set due = least(${at(`$2 + ${leaseMs}`)}, a.deadline) from held h where ${sameKey('a', 'h')}
  returning a.organization_id as "organizationId", a.environment, a.id, a.attempt`;

/** Prolongs leases, run out ones too where nobody else has taken the answer; those it does not return are lost. */
export const renewLeases = (sql: Sql, keys: readonly AttemptKey[], now: number): Promise<AttemptKey[]> =>
  sql<AttemptKey>(renewal, [attemptItems(keys), now]);

/** An answer that goes to whoever takes its job next. */
export interface Redispatched {
  organizationId: string;
  environment: 'live' | 'test';
  id: string;
  dispatches: number;
  priority: number;
  traceparent: string;
  /** It has lost a lease. */
  apart: boolean;
  /** It has lost exactly one. */
  shared: boolean;
}

export const redispatchedColumns = (alias: string) => `
  ${alias}.organization_id as "organizationId", ${alias}.environment, ${alias}.id, ${alias}.dispatches, ${alias}.priority, ${alias}.traceparent,
  ${alias}.lost_leases > 0 as apart, ${alias}.lost_leases = 1 as shared`;

/** The change that gives an answer another job, at time $2. */
export const handedBack = `
  state = 'dispatched', claim = '', dispatches = a.dispatches + 1, dispatched_at = ${at('$2')},
  due = least(${at(`$2 + ${unbegunMs}`)}, a.deadline)`;

// An attempt that its worker could hand back did not end its process: lost leases are counted in a row.
const handBack = `
  with ${sought(attempts)}, ${held}
  update answers a set ${handedBack}, lost_leases = 0 from held h where ${sameKey('a', 'h')}
  returning ${redispatchedColumns('a')}`;

/** Takes answers back from a worker that stops. */
export const handBackAnswers = (sql: Sql, keys: readonly AttemptKey[], now: number): Promise<Redispatched[]> =>
  sql<Redispatched>(handBack, [attemptItems(keys), now]);

/** An answer whose worker let its lease run out, or died. */
export interface LostLease extends Redispatched {
  lostLeases: number;
}

export const lostLeaseColumns = (alias: string) => `${redispatchedColumns(alias)}, ${alias}.lost_leases as "lostLeases"`;

const loseLeases = `
  with ${sought(attempts)}, ${held}
  update answers a set ${handedBack}, lost_leases = a.lost_leases + 1 from held h where ${sameKey('a', 'h')}
  returning ${lostLeaseColumns('a')}`;

/** Takes answers from a process that has died with them. */
export const takeFromDead = (sql: Sql, keys: readonly AttemptKey[], now: number): Promise<LostLease[]> =>
  sql<LostLease>(loseLeases, [attemptItems(keys), now]);
