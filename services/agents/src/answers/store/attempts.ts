import type { WorkerFields } from '@agent-service/contracts/agents/fields';
import { type RowColumns, type Sql, toJson } from '@agent-service/store';
import { type AnswerKey, type AttemptKey, leaseMs, maxLostLeases, select } from '../../shared/answer.ts';
import {
  type AttemptInput,
  at,
  attemptColumns,
  inLockOrder,
  inputColumns,
  itemsByKey,
  keyColumns,
  type NullColumns,
  type RedispatchedRow,
  redispatched,
  sameKey,
  sameTenant,
  selectKey,
  selectRedispatched,
  stateAfter,
  statesFor,
} from './sql.ts';

/** A worker's request for an answer. */
export interface Claim extends AnswerKey {
  /** A worker that asks again with the same claim gets the attempt that it has. */
  readonly claim: string;
  /** `alone`: its process runs no other answer. `shared`: only answers that have lost one lease. Undefined where the worker itself runs it. */
  readonly isolation?: 'alone' | 'shared' | undefined;
  readonly workerChannel: string;
}

/** An attempt that has begun. The fields of its agent are null where that has been deleted. */
export type BegunRow = Omit<AttemptInput, keyof WorkerFields> & (WorkerFields | NullColumns<WorkerFields>);

const claimColumns: RowColumns<Claim> = {
  ...keyColumns,
  claim: ['text', ({ claim }) => claim],
  alone: ['boolean', ({ isolation }) => isolation === 'alone'],
  shared: ['boolean', ({ isolation }) => isolation === 'shared'],
  worker_channel: ['text', ({ workerChannel }) => workerChannel],
};

// An answer that has lost a lease may end its process, so it shares one only with others that have lost one, and runs alone after two.
const begin = `
  with ${itemsByKey(claimColumns)},
  claimed as materialized (
    select i.*, a.state = ${stateAfter('begin')} and a.claim = i.claim as again from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor('begin')} and a.deadline > ${at('$2')}
      and (a.claim = i.claim or (a.state = 'dispatched' and (
        a.lost_leases = 0 or (i.shared and a.lost_leases = 1) or (i.alone and a.lost_leases < ${maxLostLeases}))))
    ${inLockOrder('a')} for update of a),
  begun as (
    update answers a
    set state = ${stateAfter('begin')}, claim = c.claim, attempt = a.attempt + (not c.again)::integer, worker_channel = c.worker_channel,
      due = least(${at(`$2 + ${leaseMs}`)}, a.deadline)
    from claimed c where ${sameKey('a', 'c')}
    returning a.*)
  select ${select(inputColumns('b', 'agent'))} from begun b left join agents agent on ${sameTenant('agent', 'b')} and agent.id = b.agent_id`;

/** Begins attempts, and returns those that are the claims' own. */
export const beginAnswers = (sql: Sql, claims: readonly Claim[], now: number): Promise<BegunRow[]> =>
  sql<BegunRow>(begin, [toJson(claimColumns, claims), now]);

const unended = `
  with ${itemsByKey(keyColumns)}
  select ${selectKey('a')} from items i join answers a on ${sameKey('a', 'i')} where a.state <> 'releasing'`;

/** Those of the answers that have not ended. */
export const findUnended = (sql: Sql, keys: readonly AnswerKey[]): Promise<AnswerKey[]> =>
  sql<AnswerKey>(unended, [toJson(keyColumns, keys)]);

export const beginStatements = { begin, unended };

/** The rows of these attempts. An attempt has a lease only until the deadline. */
const leased = (event: 'renew' | 'endLease') => `
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
  sql<AttemptKey>(renew, [toJson(attemptColumns, attempts), now]);

// An attempt that its worker could return did not end its process: lost leases are counted in a row.
const returnAttempts = `
  with ${itemsByKey(attemptColumns)}, ${leased('endLease')}
  update answers a set ${redispatched('endLease')}, lost_leases = 0 from leased l where ${sameKey('a', 'l')}
  returning ${selectRedispatched('a')}`;

/** Takes answers back from a worker that stops. */
export const returnAnswers = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(returnAttempts, [toJson(attemptColumns, attempts), now]);

const loseLeases = `
  with ${itemsByKey(attemptColumns)}, ${leased('endLease')}
  update answers a set ${redispatched('endLease')}, lost_leases = a.lost_leases + 1 from leased l where ${sameKey('a', 'l')}
  returning ${selectRedispatched('a')}`;

/** Takes answers from a process that has died. */
export const takeFromDead = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(loseLeases, [toJson(attemptColumns, attempts), now]);

export const leaseStatements = { renew, returnAttempts, loseLeases };
