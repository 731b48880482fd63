import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { defineEntity, environment, p, timestamp } from '@agent-service/store/entities';

/** A user's opinion of an answer; a later one replaces it. */
export const MessageFeedbackEntity = defineEntity({
  name: 'MessageFeedback',
  tableName: 'message_feedback',
  indexes: [{ name: 'message_feedback_conversation_index', properties: ['conversationId', 'organizationId', 'environment'] }],
  checks: [{ name: 'message_feedback_score_check', property: 'score', expression: 'score >= 1 and score <= 5' }],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    messageId: p.text().primary(),
    conversationId: p.text(),
    userId: p.text(),
    score: p.integer(),
    comment: p.text(),
    updatedAt: timestamp(),
  },
});

export interface FeedbackRow {
  messageId: string;
  score: number;
  comment: string;
  updatedAt: string;
}

interface NewFeedback {
  readonly messageId: string;
  readonly conversationId: string;
  readonly userId: string;
  readonly score: number;
  readonly comment: string;
}

const columns = 'message_id as "messageId", score, comment, updated_at as "updatedAt"';

// The same feedback again keeps its time. The lock keeps the conversation, whose removal takes its feedback along, until this transaction ends.
const replace = `
  insert into message_feedback (organization_id, environment, message_id, conversation_id, user_id, score, comment, updated_at)
  select $1, $2, $3, id, $5, $6, $7, now() from conversations where organization_id = $1 and environment = $2 and id = $4 for key share
  on conflict (organization_id, environment, message_id)
  do update set score = excluded.score, comment = excluded.comment, updated_at = case
    when (message_feedback.score, message_feedback.comment) = (excluded.score, excluded.comment) then message_feedback.updated_at
    else excluded.updated_at end
  returning ${columns}`;

/** Undefined where the conversation was removed in the meantime. */
export async function replaceFeedback(
  sql: Sql,
  { organizationId, environment }: Tenant,
  feedback: NewFeedback,
): Promise<FeedbackRow | undefined> {
  const { messageId, conversationId, userId, score, comment } = feedback;
  const [row] = await sql<FeedbackRow>(replace, [organizationId, environment, messageId, conversationId, userId, score, comment]);
  return row;
}

const find = `select ${columns} from message_feedback where organization_id = $1 and environment = $2 and message_id = any($3::text[])`;

/** The feedback of these messages of one user; messages without any are missing. */
export const findFeedback = (sql: Sql, { organizationId, environment }: Tenant, messageIds: readonly string[]): Promise<FeedbackRow[]> =>
  messageIds.length === 0 ? Promise.resolve([]) : sql<FeedbackRow>(find, [organizationId, environment, messageIds]);

export const feedbackStatements = { replaceFeedback: replace, findFeedback: find };
