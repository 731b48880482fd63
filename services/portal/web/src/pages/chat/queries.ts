import type { ListedMessage } from '@agent-service/client';
import { infiniteQueryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Environment } from '../../api/client.ts';

const conversationsAtOnce = 30;
const messagesAtOnce = 30;

/** The user's conversations with an agent, the latest message first. */
export const conversationsQuery = (environment: Environment, agentId: string) =>
  infiniteQueryOptions({
    queryKey: [environment, 'conversations', agentId, 'list'],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      bodyOf(
        api(environment).GET('/v1/agents/{agent_id}/conversations', {
          params: {
            path: { agent_id: agentId },
            query: { limit: conversationsAtOnce, include: 'title', ...(pageParam && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    getNextPageParam: ({ meta }) => meta.next_cursor,
  });

/** The messages of a conversation, newest first. */
export const messagesQuery = (environment: Environment, agentId: string, conversationId: string) =>
  infiniteQueryOptions({
    queryKey: [environment, 'conversations', agentId, 'messages', conversationId],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      bodyOf(
        api(environment).GET('/v1/agents/{agent_id}/conversations/{conversation_id}/messages', {
          params: {
            path: { agent_id: agentId, conversation_id: conversationId },
            query: { limit: messagesAtOnce, ...(pageParam && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    getNextPageParam: ({ meta }) => meta.next_cursor,
    // An answer that another window began is read until it has ended.
    refetchInterval: ({ state }) => (state.data?.pages[0]?.data.some(isUnderWay) ? 2_000 : false),
  });

export const isUnderWay = ({ status }: ListedMessage): boolean => status === 'queued' || status === 'running';
