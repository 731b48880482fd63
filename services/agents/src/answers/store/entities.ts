import { defineEntity, environment, migratedIndex, p, texts, timestamp } from '@agent-service/store/entities';
import { states } from '../../shared/answer.ts';

const text = () => p.text().default('');
const number = () => p.integer().default(0);

/**
 * An answer from its acceptance until its hold is settled or released. `due` is when a sweep takes it up: the end of its lease while it runs, its
 * deadline at the latest. A row in the state `releasing` is only a hold; without an agent, that of a message that was never accepted.
 */
export const AnswerEntity = defineEntity({
  name: 'Answer',
  tableName: 'answers',
  indexes: ['answers_conversation_index', 'answers_waiting_index', 'answers_state_due_index'].map(migratedIndex),
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    state: p.enum([...states]),
    due: timestamp(),
    agentId: text(),
    agentName: text(),
    conversationId: text(),
    continues: p.boolean().default(false),
    userId: text(),
    tier: text(),
    userMessageId: text(),
    message: text(),
    contextJson: text(),
    requestId: text(),
    traceparent: text(),
    idempotencyScope: text(),
    stream: p.boolean().default(false),
    replyChannels: texts().default([]),
    acceptedAt: timestamp(),
    deadline: timestamp(),
    dispatches: number(),
    priority: number(),
    dispatchedAt: timestamp().nullable(),
    claim: text(),
    attempt: number(),
    workerChannel: text(),
    content: text(),
    contentType: p.enum(['markdown', 'text'] as const).default('markdown'),
    inputTokens: number(),
    outputTokens: number(),
    queries: p.json<unknown[]>().nullable(),
    lostLeases: number(),
    record: p.json<unknown>().nullable(),
    refused: p.boolean().default(false),
  },
});

/** The waiting line of a tenant. A statement that changes the number of its waiting or in-flight answers locks it first. */
export const AnswerLineEntity = defineEntity({
  name: 'AnswerLine',
  tableName: 'answer_lines',
  indexes: [migratedIndex('answer_lines_waiting_index')],
  checks: [
    { name: 'answer_lines_waiting_check', property: 'waiting', expression: 'waiting >= 0' },
    { name: 'answer_lines_in_flight_check', property: 'inFlight', expression: 'in_flight >= 0' },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    waiting: number(),
    inFlight: number(),
  },
});

/** The answer that an Idempotency-Key names. A failed answer that has begun no change of business data frees its key. */
export const AnswerKeyEntity = defineEntity({
  name: 'AnswerKey',
  tableName: 'answer_keys',
  indexes: [{ name: 'answer_keys_created_at_index', properties: ['createdAt'] }],
  properties: {
    organizationId: p.text().primary(),
    environment: p.text().primary(),
    scope: p.text().primary(),
    fingerprint: p.text(),
    answerId: p.text(),
    createdAt: timestamp(),
  },
});
