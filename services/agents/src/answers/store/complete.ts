import type { Sql } from '@agent-service/store';
import { dutyMs } from '../domain/times.ts';
import { type AnswerKey, type AttemptKey, keyItem } from '../key.ts';
import { allowing, at, inState, keyColumns, milliseconds, sameKey, sought } from './text.ts';

/** A query that an answer rests on, in the form of the contract. */
export interface QueryRecord {
  readonly statement: string;
  readonly tables: readonly string[];
  readonly rows: number;
  readonly durationMs: number;
}

export interface Result extends AttemptKey {
  readonly content: string;
  readonly contentType: 'markdown' | 'text';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly queries: readonly QueryRecord[];
}

/** A stored result that is to be paid for. */
export interface Settling extends AnswerKey {
  agentId: string;
  agentName: string;
  conversationId: string;
  userId: string;
  tier: string;
  /** As much of the question as a usage record keeps. */
  summary: string;
  content: string;
  contentType: string;
  inputTokens: number;
  outputTokens: number;
  queries: QueryRecord[];
  attempt: number;
  dispatches: number;
  acceptedAt: number;
  replyChannels: string[];
  requestId: string;
}

/** All of a settling row but what whoever stored the result has at hand. */
const settlingColumns = (alias: string) => `
  ${alias}.organization_id as "organizationId", ${alias}.environment, ${alias}.id, ${alias}.agent_id as "agentId",
  ${alias}.agent_name as "agentName", ${alias}.conversation_id as "conversationId", ${alias}.user_id as "userId", ${alias}.tier,
  left(${alias}.message, 120) as summary, ${alias}.attempt, ${alias}.dispatches,
  ${milliseconds(`${alias}.accepted_at`)} as "acceptedAt", ${alias}.reply_channels as "replyChannels", ${alias}.request_id as "requestId"`;

const store = `
  with ${sought(`${keyColumns}, attempt integer, content text, content_type text, input_tokens integer,
    output_tokens integer, queries jsonb`)},
  newest as materialized (
    select i.* from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${allowing('complete')} and a.attempt = i.attempt
    order by a.organization_id, a.environment, a.id for update of a)
  update answers a
  set state = 'settling', due = ${at(`$2 + ${dutyMs}`)}, content = n.content, content_type = n.content_type,
    input_tokens = n.input_tokens, output_tokens = n.output_tokens, queries = n.queries
  from newest n where ${sameKey('a', 'n')}
  returning ${settlingColumns('a')}`;

export type Stored = Omit<Settling, 'content' | 'contentType' | 'inputTokens' | 'outputTokens' | 'queries'>;

/** Stores results of the newest attempts, and returns those that were stored by this very call. */
export function storeResults(sql: Sql, results: readonly Result[], now: number): Promise<Stored[]> {
  const given = results.map(({ attempt, content, contentType, inputTokens, outputTokens, queries, ...key }) => ({
    ...keyItem(key),
    attempt,
    content,
    content_type: contentType,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    queries: queries.length === 0 ? null : queries,
  }));
  return sql<Stored>(store, [JSON.stringify(given), now]);
}

const takeUp = `
  update answers a set due = ${at(`$1 + ${dutyMs}`)}
  where a.ctid = any(array(
    select ctid from answers where ${inState('settling')} and due <= ${at('$1')}
    order by due limit $2 for update skip locked))
  returning ${settlingColumns('a')}, a.content, a.content_type as "contentType",
    a.input_tokens as "inputTokens", a.output_tokens as "outputTokens", coalesce(a.queries, '[]') as queries`;

/** Takes over results that nobody has settled in time. */
export const takeUpSettling = (sql: Sql, limit: number, now: number): Promise<Settling[]> => sql<Settling>(takeUp, [now, limit]);

export interface Standing extends AnswerKey {
  /** Null where the answer has ended. */
  state: string | null;
  attempt: number;
  /** How it ended; null where there never was such an answer, or where it has not ended. */
  status: string | null;
}

const standing = `
  with ${sought(`${keyColumns}, created_at float8`)}
  select i.organization_id as "organizationId", i.environment, i.id, a.state, coalesce(a.attempt, m.attempt, 0) as attempt, m.status
  from items i
  left join answers a on ${sameKey('a', 'i')} and a.state <> 'releasing'
  left join lateral (
    select * from messages said where ${sameKey('said', 'i')} and said.created_at = ${at('i.created_at')} and said.role = 'assistant'
    limit 1) m on true`;

/** How answers stand that an attempt could not end. */
export const loadStandings = (sql: Sql, keys: readonly (AnswerKey & { createdAt: number })[]): Promise<Standing[]> =>
  sql<Standing>(standing, [JSON.stringify(keys.map((key) => ({ ...keyItem(key), created_at: key.createdAt })))]);
