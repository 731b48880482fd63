import { z } from 'zod';

const time = z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });

export const conversation = z
  .strictObject({
    id: z.string().meta({ example: 'conv_01jz0000000000000000000000' }),
    agent_id: z.string().meta({ example: 'agt_01jz0000000000000000000000' }),
    message_count: z.int().meta({ description: 'Of both sides.', example: 2 }),
    total_credits: z.int().meta({ description: 'What its answers cost.', example: 2 }),
    created_at: time,
    last_message_at: time,
  })
  .meta({ id: 'Conversation' });

interface ConversationMessage {
  id: string;
  agentId: string;
  messageCount: number;
  totalCredits: string;
  createdAt: string;
  lastMessageAt: string;
}

/** A conversation as agents returns it, as callers see it. */
export const toConversation = (sent: ConversationMessage): z.output<typeof conversation> => ({
  id: sent.id,
  agent_id: sent.agentId,
  message_count: sent.messageCount,
  total_credits: Number(sent.totalCredits),
  created_at: sent.createdAt,
  last_message_at: sent.lastMessageAt,
});
