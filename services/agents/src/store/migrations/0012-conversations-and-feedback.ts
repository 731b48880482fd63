import { migration } from '@agent-service/store';

// A deleted conversation is gone for its caller at once. Its row stays until a sweep has removed its messages, so that an answer that was
// accepted in the same moment ends as in a conversation that exists. The index does not cover the columns that answers update.
const conversations = `
  alter table conversations add column title text not null default '', add column deleted_at timestamptz(3);
  create index conversations_deleted_index on conversations (deleted_at) where deleted_at is not null;
`;

// Apart from the messages, which are written once and partitioned by time.
const feedback = `
  create table message_feedback (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    message_id text not null,
    conversation_id text not null,
    user_id text not null,
    score integer not null check (score >= 1 and score <= 5),
    comment text not null,
    updated_at timestamptz(3) not null,
    primary key (organization_id, environment, message_id)
  );
  create index message_feedback_conversation_index on message_feedback (conversation_id, organization_id, environment);
`;

export const conversationsAndFeedback = migration('0012-conversations-and-feedback', conversations, feedback);
