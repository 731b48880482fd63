import type { ServiceDeps } from '../shared/deps.ts';
import { listConversations } from './list-conversations.ts';
import { getMessage, listMessages } from './read-messages.ts';

export { ConversationCountEntity, ConversationEntity, MessageEntity } from './store/entities.ts';

export const conversationMethods = (deps: ServiceDeps) => ({
  getMessage: getMessage(deps),
  listConversations: listConversations(deps),
  listMessages: listMessages(deps),
});
