import { AgentCategoryCountEntity, AgentCountEntity, AgentEntity, DeletedAgentEntity } from '../agents/index.ts';
import { ConversationCountEntity, ConversationEntity, MessageEntity } from '../conversations/index.ts';
import { AnswerStepEntity, DataSourceEntity } from '../data-sources/index.ts';

/** Every table of the schema that has an entity; test/schema.test.ts compares them with the migrations. */
export const entities = [
  AgentCategoryCountEntity,
  AgentCountEntity,
  AgentEntity,
  AnswerStepEntity,
  ConversationCountEntity,
  ConversationEntity,
  DataSourceEntity,
  DeletedAgentEntity,
  MessageEntity,
];
