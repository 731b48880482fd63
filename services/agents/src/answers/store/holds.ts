import type { Sql } from '@agent-service/store';
import { disownedMs, dutyMs } from '../domain/times.ts';
import { type AnswerKey, keyItem } from '../key.ts';
import { at, inState, items, keyColumns, sameKey, sought } from './text.ts';

const keyed = (alias: string) => `${alias}.organization_id as "organizationId", ${alias}.environment, ${alias}.id`;

const disown = `
  with ${items(keyColumns)}
  insert into answers as a (organization_id, environment, id, state, due, accepted_at, deadline)
  select organization_id, environment, id, 'releasing', ${at(`$2 + ${disownedMs}`)}, ${at('$2')}, ${at('$2')} from items
  order by organization_id, environment, id
  on conflict do nothing
  returning ${keyed('a')}`;

/**
 * Marks holds of messages that were not accepted as to be released. An id that is an accepted answer's is not among what comes
 * back, and one that is marked can not be accepted any more: whichever was first decides. The mark stays for a while after the
 * release, because an acceptance may be under way that got its hold before.
 */
export const disownHolds = (sql: Sql, keys: readonly AnswerKey[], now: number): Promise<AnswerKey[]> =>
  sql<AnswerKey>(disown, [JSON.stringify(keys.map(keyItem)), now]);

const takeUp = `
  update answers a set due = ${at(`$1 + ${dutyMs}`)}
  where a.ctid = any(array(
    select ctid from answers where ${inState('releasing')} and due <= ${at('$1')}
    order by due limit $2 for update skip locked))
  returning ${keyed('a')}`;

/** Takes over holds that nobody has released in time. */
export const takeUpReleasing = (sql: Sql, limit: number, now: number): Promise<AnswerKey[]> => sql<AnswerKey>(takeUp, [now, limit]);

const forget = `
  with ${sought(keyColumns)},
  released as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')} where a.state = 'releasing' and (a.agent_id <> '' or a.accepted_at <= ${at(`$2 - ${disownedMs}`)})
    order by a.organization_id, a.environment, a.id for update of a)
  delete from answers a using released r where ${sameKey('a', 'r')}`;

/** The holds are released: nothing is owed any more. */
export const forgetReleased = (sql: Sql, keys: readonly AnswerKey[], now: number): Promise<object[]> =>
  sql(forget, [JSON.stringify(keys.map(keyItem)), now]);
