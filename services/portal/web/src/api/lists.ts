import type { AgentSummary, TitledConversation, User } from '@agent-service/client';
import { type QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Environment } from './client.ts';
import { type ApiPage, readWhole } from './pages.ts';

/**
 * For `placeholderData`: keeps the rows that are shown until the next ones arrive, if only filters, which are objects in the key, or what follows the
 * key differ. Rows of the other environment would stand under the wrong name, with actions that fail.
 */
export const keepSameList =
  (queryKey: QueryKey) =>
  <Data>(before: Data | undefined, query: { queryKey: QueryKey } | undefined): Data | undefined =>
    queryKey.every((part, index) => typeof part === 'object' || part === query?.queryKey[index]) ? before : undefined;

/** Reads again what shows agents, after a change of one: a template is activated while its agent is active. */
export const readAgentsAgain = (client: QueryClient, environment: Environment, refetchType: 'active' | 'none' = 'active') =>
  Promise.all([
    client.invalidateQueries({ queryKey: [environment, 'agents'], refetchType }),
    client.invalidateQueries({ queryKey: [environment, 'templates'] }),
  ]);

/** Reads again what lists the conversations with an agent, after a change of one. Their messages stay. */
export const readConversationsAgain = (client: QueryClient, environment: Environment, agentId: string) =>
  Promise.all([
    client.invalidateQueries({ queryKey: [environment, 'conversations', agentId, 'list'] }),
    client.invalidateQueries({ queryKey: [environment, 'conversations', 'recent'] }),
  ]);

const maxTables = 5_000;

/** The data source with all its tables. */
export const dataSourceQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'data-source'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const read = async (cursor: string | undefined) => {
        const query = { limit: 200, ...(cursor && { cursor }) };
        const { data, meta } = await bodyOf(api(environment).GET('/v1/data-source', { params: { query }, signal }));
        // It became unreadable, or was disconnected: the tables so far are not all of them.
        if (cursor && data.status !== 'connected') throw new Error(data.reason ?? 'The data source was disconnected.');
        return { data: data.tables, meta, source: data };
      };
      const { data: tables, source } = await readWhole(read, signal, maxTables);
      return { ...source, tables };
    },
  });

/** The state of the data source, without its tables. */
export const dataSourceStatusQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'data-source', 'status'],
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await bodyOf(api(environment).GET('/v1/data-source', { params: { query: { limit: 1 } }, signal }))).data.status,
  });

export const agentQuery = (environment: Environment, agentId: string) =>
  queryOptions({
    queryKey: [environment, 'agents', 'one', agentId],
    queryFn: async ({ signal }) =>
      (await bodyOf(api(environment).GET('/v1/agents/{agent_id}', { params: { path: { agent_id: agentId } }, signal }))).data,
  });

/** Rows to choose from, by their names. */
export interface NameList<Row> {
  rows: Row[];
  /** How many there are, with those that were not read. */
  total: number;
}

const namesAtOnce = 100;
const maxNames = 1_000;

async function readNames<Row>(read: (cursor: string | undefined) => Promise<ApiPage<Row>>, signal: AbortSignal): Promise<NameList<Row>> {
  const { data: rows, meta } = await readWhole(read, signal, maxNames);
  return { rows, total: meta.total };
}

/** The users, up to the newest thousand. Lists that hold ids show the ids of the others. */
export const usersQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'users', 'names'],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      readNames((cursor) => {
        const query = { limit: namesAtOnce, ...(cursor && { cursor }) };
        return bodyOf(api(environment).GET('/v1/users', { params: { query }, signal }));
      }, signal),
  });

/** Undefined for a user whose name was not read. */
export const userName = (users: NameList<User> | undefined, id: string): string | undefined =>
  users?.rows.find((user) => user.id === id)?.name;

/** The active agents, up to the newest thousand. */
export const activeAgentsQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'agents', 'active'],
    queryFn: ({ signal }) =>
      readNames((cursor) => {
        const query = { limit: namesAtOnce, status: 'active' as const, ...(cursor && { cursor }) };
        return bodyOf(api(environment).GET('/v1/agents', { params: { query }, signal }));
      }, signal),
  });

const newestAgents = 5;

/** The newest active agents. */
export const newestAgentsQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'agents', 'newest'],
    queryFn: async ({ signal }): Promise<NameList<AgentSummary>> => {
      const query = { limit: newestAgents, status: 'active' as const };
      const { data, meta } = await bodyOf(api(environment).GET('/v1/agents', { params: { query }, signal }));
      return { rows: data, total: meta.total };
    },
  });

export type RecentConversation = TitledConversation & { agentName: string };

/** The user's latest conversations, at most so many of each agent. The API lists conversations by agent, so `agents` are few. */
export const recentConversationsQuery = (
  environment: Environment,
  agents: readonly { id: string; name: string }[] | undefined,
  most: number,
) =>
  queryOptions({
    queryKey: [environment, 'conversations', 'recent', most, agents?.map(({ id, name }) => [id, name])],
    enabled: agents !== undefined,
    queryFn: async ({ signal }): Promise<RecentConversation[]> => {
      const lists = (agents ?? []).map(async ({ id, name }) => {
        const params = { path: { agent_id: id }, query: { limit: most, include: 'title' as const } };
        const { data } = await bodyOf(api(environment).GET('/v1/agents/{agent_id}/conversations', { params, signal }));
        return (data as TitledConversation[]).map((one) => ({ ...one, agentName: name }));
      });
      const all = (await Promise.all(lists)).flat();
      return all.sort((a, b) => b.last_message_at.localeCompare(a.last_message_at));
    },
  });
