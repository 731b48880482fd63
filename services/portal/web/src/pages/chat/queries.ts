import type { ListedMessage } from '@agent-service/client';
import { infiniteQueryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
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
  });

export const isUnderWay = ({ status }: Pick<ListedMessage, 'status'>): boolean => status === 'queued' || status === 'running';

const awaitMs = 2_000;

/** Reads an answer until it has ended or cannot be read, and then the messages of its conversation, which may be many. */
export function useAwaitedAnswer(environment: Environment, agentId: string, conversationId: string, messageId: string | undefined): void {
  const client = useQueryClient();
  useQuery({
    queryKey: [environment, 'conversations', agentId, 'awaited', messageId],
    enabled: messageId !== undefined,
    refetchInterval: awaitMs,
    queryFn: async () => {
      const params = { path: { agent_id: agentId, message_id: messageId ?? '' } };
      const call = bodyOf(api(environment).GET('/v1/agents/{agent_id}/messages/{message_id}', { params }));
      const isAwaited = await call.then(
        ({ data }) => isUnderWay(data),
        () => false,
      );
      if (!isAwaited) await client.invalidateQueries({ queryKey: messagesQuery(environment, agentId, conversationId).queryKey });
      return isAwaited;
    },
  });
}
