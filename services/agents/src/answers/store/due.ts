import type { Sql } from '@agent-service/store';
import { unbegunMs } from '../../domain/answers/times.ts';
import { type AnswerKey, keyItem } from '../key.ts';
import { handedBack, type Redispatched, redispatchedColumns } from './renew.ts';
import { at, keyColumns, milliseconds, sameKey, sought } from './text.ts';

/** An answer that nobody has moved on in time. */
export interface DueRow extends Redispatched {
  state: 'waiting' | 'dispatched' | 'running';
  dispatchedAt: number;
  overdue: boolean;
}

/** The oldest answers in hand whose lease, patience or deadline has run out. */
export const loadDue = (sql: Sql, limit: number, now: number): Promise<DueRow[]> =>
  sql<DueRow>(
    `select ${redispatchedColumns('a')}, a.state, ${milliseconds('a.dispatched_at')} as "dispatchedAt", a.deadline <= ${at('$1')} as overdue
     from answers a where a.state in ('waiting', 'dispatched', 'running') and a.due <= ${at('$1')}
     order by a.due limit $2`,
    [now, limit],
  );

const still = `
  due as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ('dispatched', 'running') and a.due <= ${at('$2')} and a.dispatches = i.dispatches and a.deadline > ${at('$2')}
    order by a.organization_id, a.environment, a.id for update of a skip locked)`;

const redispatch = `
  with ${sought(`${keyColumns}, dispatches integer`)}, ${still}
  update answers a set ${handedBack} from due d where ${sameKey('a', 'd')}
  returning ${redispatchedColumns('a')}`;

const wait = `
  with ${sought(`${keyColumns}, dispatches integer`)}, ${still}
  update answers a set due = least(${at(`$2 + ${unbegunMs}`)}, a.deadline) from due d where ${sameKey('a', 'd')} and a.state = 'dispatched'`;

const dispatchItems = (rows: readonly (AnswerKey & { dispatches: number })[]) =>
  JSON.stringify(rows.map((row) => ({ ...keyItem(row), dispatches: row.dispatches })));

/** Gives these another job, unless somebody has moved them on meanwhile. */
export const redispatchDue = (sql: Sql, rows: readonly (AnswerKey & { dispatches: number })[], now: number): Promise<Redispatched[]> =>
  rows.length === 0 ? Promise.resolve([]) : sql<Redispatched>(redispatch, [dispatchItems(rows), now]);

/** Their jobs are where they belong: they are looked at again later. */
export async function leaveWaiting(sql: Sql, rows: readonly (AnswerKey & { dispatches: number })[], now: number): Promise<void> {
  if (rows.length > 0) await sql(wait, [dispatchItems(rows), now]);
}
