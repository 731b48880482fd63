import type { Sql, Store } from '@agent-service/store';

/** What one step removes at most, give or take a few messages of the same instant. */
const messagesAStep = 2_000;
const conversationsAStep = 200;

interface Deleted {
  organization: string;
  environment: string;
  id: string;
}

interface Conversation {
  id: string;
  messages: number;
}

/**
 * Removes a bounded part of what deleted agents have left; answers with how much. Answers still under way would write into
 * conversations that are gone, so an agent's turn comes when its last one has ended.
 */
export function removeRemains(store: Store): Promise<number> {
  return store.transaction(async ({ sql }) => {
    const agent = await take(sql);
    if (!agent) return 0;
    const conversations = await conversationsOf(sql, agent);
    if (conversations.length === 0) return await forget(sql, agent);
    const [first] = conversations;
    if (first && first.messages > messagesAStep) return await shorten(sql, agent, first);
    return await remove(sql, agent, fitting(conversations));
  });
}

async function take(sql: Sql): Promise<Deleted | undefined> {
  const [agent] = await sql<Deleted>(
    `select d.organization_id as organization, d.environment, d.id from deleted_agents d
     where not exists (select 1 from answers a where a.organization_id = d.organization_id and a.environment = d.environment
       and a.agent_id = d.id and a.state <> 'releasing')
     order by d.deleted_at limit 1 for update of d skip locked`,
  );
  return agent;
}

const keyOf = ({ organization, environment, id }: Deleted) => [organization, environment, id];

const conversationsOf = (sql: Sql, agent: Deleted): Promise<Conversation[]> =>
  sql<Conversation>(
    `select id, message_count as messages from conversations where organization_id = $1 and environment = $2 and agent_id = $3
     limit ${conversationsAStep}`,
    keyOf(agent),
  );

/** As many from the front as one step may take. */
function fitting(conversations: readonly Conversation[]): string[] {
  let messages = 0;
  const until = conversations.findIndex((conversation) => (messages += conversation.messages) > messagesAStep);
  return conversations.slice(0, until < 0 ? undefined : until).map(({ id }) => id);
}

/** A long conversation loses its newest messages first, and is as short as any other in the end. */
async function shorten(sql: Sql, { organization, environment }: Deleted, { id }: Conversation): Promise<number> {
  const mine = 'organization_id = $1 and environment = $2 and conversation_id = $3';
  await sql(
    `with gone as (
       delete from messages where ${mine} and created_at >= (
         select created_at from messages where ${mine} order by created_at desc, id desc offset ${messagesAStep - 1} limit 1)
       returning 1)
     update conversations set message_count = message_count - (select count(*) from gone)
     where organization_id = $1 and environment = $2 and id = $3`,
    [organization, environment, id],
  );
  return 1;
}

async function remove(sql: Sql, { organization, environment }: Deleted, ids: readonly string[]): Promise<number> {
  const values = [organization, environment, ids];
  await sql('delete from messages where organization_id = $1 and environment = $2 and conversation_id = any($3::text[])', values);
  await sql('delete from conversations where organization_id = $1 and environment = $2 and id = any($3::text[])', values);
  return ids.length;
}

async function forget(sql: Sql, agent: Deleted): Promise<number> {
  await sql('delete from conversation_counts where organization_id = $1 and environment = $2 and agent_id = $3', keyOf(agent));
  await sql('delete from deleted_agents where organization_id = $1 and environment = $2 and id = $3', keyOf(agent));
  return 1;
}
