import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';

/** Counters and the time count an answer from its acceptance on, so that a list and its total agree while it is pending. */
export const ConversationEntity = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  indexes: [migratedIndex('conversations_listed_index')],
  checks: [
    { name: 'conversations_message_count_check', property: 'messageCount', expression: 'message_count >= 0' },
    { name: 'conversations_total_credits_check', property: 'totalCredits', expression: 'total_credits >= 0' },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    agentId: p.text(),
    userId: p.text(),
    messageCount: p.integer(),
    totalCredits: p.bigint('number').defaultRaw('0'),
    createdAt: timestamp(),
    lastMessageAt: timestamp(),
  },
});

export const ConversationCountEntity = defineEntity({
  name: 'ConversationCount',
  tableName: 'conversation_counts',
  checks: [{ name: 'conversation_counts_count_check', property: 'count', expression: 'count >= 0' }],
  properties: {
    organizationId: p.text().primary(),
    environment: p.text().primary(),
    agentId: p.text().primary(),
    userId: p.text().primary(),
    count: p.bigint('number'),
  },
});

/** Partitioned by createdAt, the millisecond in the id. An answer's message is written when the answer ends. */
export const MessageEntity = defineEntity({
  name: 'Message',
  tableName: 'messages',
  indexes: [migratedIndex('messages_conversation_index')],
  checks: [
    { name: 'messages_credits_check', property: 'credits', expression: 'credits >= 0' },
    { name: 'messages_charged_when_completed', expression: "credits = 0 or status = 'completed'" },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    createdAt: timestamp().primary(),
    conversationId: p.text(),
    agentId: p.text(),
    userId: p.text(),
    role: p.enum(['user', 'assistant'] as const),
    content: p.text(),
    contentType: p.enum(['markdown', 'text'] as const).default('markdown'),
    status: p.enum(['completed', 'failed', 'cancelled'] as const),
    tier: p.text().default(''),
    credits: p.integer().default(0),
    attempt: p.integer().default(0),
    failureCode: p.text().default(''),
    failureMessage: p.text().default(''),
    queries: p.json<unknown>().nullable(),
  },
});
