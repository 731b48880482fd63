import type { Environment, Tenant } from '@agent-service/contracts';
import type { Sql, Store } from '@agent-service/store';
import { type RemovalLogger, removeFirstDue } from '../../shared/remove-first-due.ts';

/** The most messages that one step removes. It may exceed them by those that share the time of the last one. */
export const maxMessagesPerStep = 2_000;
const retrySeconds = 5;
/** Longer than an acceptance that has found the conversation may take until it writes. */
const graceSeconds = 30;

const mine = 'organization_id = $1 and environment = $2 and conversation_id = $3';
const shorten = `
  with deleted as (
    delete from messages where ${mine} and created_at >= (
      select created_at from messages where ${mine} order by created_at desc, id desc offset ${maxMessagesPerStep - 1} limit 1)
    returning 1)
  update conversations set message_count = message_count - (select count(*) from deleted)
  where organization_id = $1 and environment = $2 and id = $3`;

/** Removes the newest messages of a conversation that is too long for one step. */
export async function shortenConversation(sql: Sql, { organizationId, environment }: Tenant, id: string): Promise<void> {
  await sql(shorten, [organizationId, environment, id]);
}

const rowsOf = 'where organization_id = $1 and environment = $2 and';
const removeMessages = `delete from messages ${rowsOf} conversation_id = any($3::text[])`;
const removeFeedback = `delete from message_feedback ${rowsOf} conversation_id = any($3::text[])`;
const remove = `delete from conversations ${rowsOf} id = any($3::text[])`;

/**
 * Removes conversations whose messages fit a step, with all that belongs to them. The conversations go first, because a transaction that writes
 * feedback locks its conversation.
 */
export async function removeConversations(sql: Sql, { organizationId, environment }: Tenant, ids: readonly string[]): Promise<void> {
  for (const statement of [remove, removeMessages, removeFeedback]) await sql(statement, [organizationId, environment, ids]);
}

interface DeletedConversation {
  organizationId: string;
  environment: Environment;
  id: string;
  messages: number;
  isUnfinished: boolean;
}

/**
 * Removes a bounded part of one deleted conversation; returns 0 where none is due. One that is not finished, because it is long, has an answer
 * under way or a locked row, goes behind the others.
 */
export function removeDeletedConversation(store: Store, logger: RemovalLogger, waitSeconds = graceSeconds): Promise<number> {
  const postponeFor = (sql: Sql, { organizationId, environment, id }: DeletedConversation, seconds: number) =>
    sql(postpone, [organizationId, environment, id, seconds - waitSeconds]);
  return removeFirstDue<DeletedConversation>(store, logger, {
    find: async (sql) => (await sql<DeletedConversation>(findDeleted, [waitSeconds]))[0],
    async remove(sql, conversation) {
      const { id, messages, isUnfinished } = conversation;
      if (!isUnfinished && messages <= maxMessagesPerStep) await removeConversations(sql, conversation, [id]);
      else {
        if (!isUnfinished) await shortenConversation(sql, conversation, id);
        await postponeFor(sql, conversation, isUnfinished ? retrySeconds : 0);
      }
      return 1;
    },
    postpone: (sql, conversation) => postponeFor(sql, conversation, retrySeconds),
  });
}

// The look-up of the answer has a limit, so that the planner uses its index: for an exists it would read all unfinished answers.
const findDeleted = `
  select c.organization_id as "organizationId", c.environment, c.id, c.message_count as messages, unfinished.id is not null as "isUnfinished"
  from conversations c
  left join lateral (
    select a.id from answers a where a.conversation_id collate "C" = c.id and a.organization_id collate "C" = c.organization_id
      and a.environment collate "C" = c.environment and a.state <> 'releasing' limit 1) unfinished on true
  where c.deleted_at is not null and c.deleted_at <= now() - $1 * interval '1 second' order by c.deleted_at limit 1 for update of c skip locked`;

const postpone = `
  update conversations set deleted_at = now() + $4 * interval '1 second' where organization_id = $1 and environment = $2 and id = $3`;

export const removalStatements = {
  shortenConversation: shorten,
  removeMessages,
  removeFeedback,
  removeConversations: remove,
  findDeletedConversation: findDeleted,
  postponeDeletedConversation: postpone,
};
