import type { Environment, Tenant } from '@agent-service/contracts';
import type { Sql, Store } from '@agent-service/store';
import { maxMessagesPerStep, removeConversations, shortenConversation } from '../../conversations/index.ts';
import { type RemovalLogger, removeFirstDue } from '../../shared/remove-first-due.ts';

/** Limits of one step, beside that of messages. */
const maxConversationsPerStep = 200;
const maxCountsPerStep = 2_000;
const retrySeconds = 5;

interface DeletedAgent {
  organization: string;
  environment: Environment;
  id: string;
}

interface Conversation {
  id: string;
  messages: number;
  /** An answer that is not stored yet would be written into it. */
  isUnfinished: boolean;
}

/**
 * Removes a bounded part of the conversations of one deleted agent and returns how much it did. Conversations with an unfinished answer
 * stay: when a step meets no others, or a locked row, the agent is looked at again later. One that is not finished goes behind the others, so
 * that it delays no other agent.
 */
export const removeDeletedAgents = (store: Store, logger: RemovalLogger): Promise<number> =>
  removeFirstDue(store, logger, { find: lockDueAgent, remove: removePart, postpone: (sql, agent) => postpone(sql, agent, retrySeconds) });

async function removePart(sql: Sql, agent: DeletedAgent): Promise<number> {
  const conversations = await listConversations(sql, agent);
  if (conversations.length === 0) return await removeCounts(sql, agent);
  const removable = conversations.filter(({ isUnfinished }) => !isUnfinished);
  const [first] = removable;
  if (!first) return await postpone(sql, agent, retrySeconds);
  if (first.messages > maxMessagesPerStep) await shortenConversation(sql, tenantOf(agent), first.id);
  else await removeConversations(sql, tenantOf(agent), selectWithinLimit(removable));
  return await postpone(sql, agent, 0);
}

const lockDueAgentStatement = `
  select organization_id as organization, environment, id from deleted_agents
  where due <= now() order by due limit 1 for update skip locked`;

async function lockDueAgent(sql: Sql): Promise<DeletedAgent | undefined> {
  const [agent] = await sql<DeletedAgent>(lockDueAgentStatement);
  return agent;
}

const tenantOf = ({ organization: organizationId, environment }: DeletedAgent): Tenant => ({ organizationId, environment });
const keyOf = ({ organization, environment, id }: DeletedAgent) => [organization, environment, id];

// The comparison of the tenant is written so that the planner cannot use the primary key: a plan that it makes while the tables are empty would
// read all rows of the tenant later.
// An answer is inserted together with its conversation, so an agent without conversations has no answers. The look-up by conversation
// uses the index of unfinished answers; there is none by agent, which every answer would have to maintain.
const listConversationsStatement = `
  select c.id, c.message_count as messages, unfinished.id is not null as "isUnfinished"
  from (
    select organization_id, environment, id, message_count from conversations
    where agent_id = $3 and (organization_id, environment) is not distinct from ($1, $2) limit ${maxConversationsPerStep}) c
  left join lateral (
    select a.id from answers a
    where a.conversation_id collate "C" = c.id and a.organization_id collate "C" = c.organization_id
      and a.environment collate "C" = c.environment and a.state <> 'releasing' limit 1) unfinished on true`;

const listConversations = (sql: Sql, agent: DeletedAgent): Promise<Conversation[]> =>
  sql<Conversation>(listConversationsStatement, keyOf(agent));

// Cut to the milliseconds of the column, which would otherwise round to a time after the next step.
const postponeRemovalStatement = `
  update deleted_agents set due = date_trunc('milliseconds', now()) + $4 * interval '1 second'
  where organization_id = $1 and environment = $2 and id = $3`;

async function postpone(sql: Sql, agent: DeletedAgent, seconds: number): Promise<number> {
  await sql(postponeRemovalStatement, [...keyOf(agent), seconds]);
  return 1;
}

function selectWithinLimit(conversations: readonly Conversation[]): string[] {
  let messages = 0;
  const end = conversations.findIndex((conversation) => (messages += conversation.messages) > maxMessagesPerStep);
  return conversations.slice(0, end < 0 ? undefined : end).map(({ id }) => id);
}

const removeCountsStatement = `
  delete from conversation_counts where ctid = any(array(
    select ctid from conversation_counts where organization_id = $1 and environment = $2 and agent_id = $3 limit ${maxCountsPerStep}))
  returning 1`;

const forgetDeletedAgentStatement = 'delete from deleted_agents where organization_id = $1 and environment = $2 and id = $3';

/** The agent itself is removed with the last of its counters. */
async function removeCounts(sql: Sql, agent: DeletedAgent): Promise<number> {
  const removed = await sql(removeCountsStatement, keyOf(agent));
  if (removed.length === maxCountsPerStep) return await postpone(sql, agent, 0);
  await sql(forgetDeletedAgentStatement, keyOf(agent));
  return removed.length + 1;
}

export const deletedAgentStatements = {
  lockDueAgent: lockDueAgentStatement,
  listConversations: listConversationsStatement,
  postponeRemoval: postponeRemovalStatement,
  removeCounts: removeCountsStatement,
  forgetDeletedAgent: forgetDeletedAgentStatement,
};
