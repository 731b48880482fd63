import type { AnswerMessage } from '@agent-service/contracts';
import type { QueryRecord } from './store/complete.ts';

export interface MessageParts {
  id: string;
  conversationId: string;
  agentId: string;
  content: string;
  contentType: string;
  credits: number;
  tier: string;
  createdAt: number;
  status: string;
  failure: { code: string; message: string } | null;
  queries: readonly QueryRecord[];
}

/** An answer as everybody outside sees it. */
export const toMessage = ({ credits, tier, createdAt, queries, ...parts }: MessageParts): AnswerMessage => ({
  ...parts,
  role: 'assistant',
  creditsConsumed: credits,
  modelUsed: tier,
  createdAt: new Date(createdAt).toISOString(),
  queries: queries.map((query) => ({ ...query, tables: [...query.tables] })),
});
