import type { ProcessContext } from '@agent-service/runtime';
import { startSweep } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { conversationStatements } from './store/conversations.ts';
import { feedbackStatements } from './store/feedback.ts';
import { messageStatements } from './store/messages.ts';
import { removalStatements, removeDeletedConversation } from './store/removal.ts';

export { conversationMethods } from './rpc.ts';
export { ConversationCountEntity, ConversationEntity } from './store/conversations.ts';
export { MessageFeedbackEntity } from './store/feedback.ts';
export { findMessage, MessageEntity } from './store/messages.ts';
export { maxMessagesPerStep, removeConversations, shortenConversation } from './store/removal.ts';

export const conversationsStatements = { ...messageStatements, ...conversationStatements, ...feedbackStatements, ...removalStatements };

export const startConversationSweep = (process: ProcessContext, { store }: Pick<ServiceDeps, 'store'>): void =>
  startSweep(process, 'deleted conversations', 1_000, () => removeDeletedConversation(store, process.logger), 4_000);
