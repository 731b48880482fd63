import { useSyncExternalStore } from 'react';
import { type SentMessage, type StreamEvent, streamAnswer, withNewKey } from '../../api/answer-stream.ts';
import type { Environment } from '../../api/client.ts';
import { isRefusal, messageOf } from '../../api/errors.ts';
import { readConversationsAgain } from '../../api/lists.ts';
import { queryClient } from '../../api/query-client.ts';
import { takeUnsent, watchUnsent } from '../../api/unsent.ts';
import { createListeners } from '../../ui/listeners.ts';

interface AnswerStep {
  name: string;
  rows: number;
  error: string | null;
}

/** An answer under way. It lives outside of the page, so that it goes on while the user looks at something else. */
export interface PendingAnswer {
  /** As it was sent first: a repeat under its key needs the same body, also when its conversation has an id. */
  sent: SentMessage;
  conversationId: string | undefined;
  messageId: string | undefined;
  text: string;
  steps: readonly AnswerStep[];
  failure: string | undefined;
  /** True after a failure that does not tell whether there is an answer. */
  mayBeAnswered: boolean;
}

export interface Conversation {
  environment: Environment;
  agentId: string;
  conversationId: string | undefined;
}

const noReply = { failure: 'The reply to this message did not arrive.', mayBeAnswered: true };
const restored = takeUnsent('messages without a reply') as [string, SentMessage][] | undefined;
const answers = new Map(restored?.map(([key, sent]): [string, PendingAnswer] => [key, { ...pendingOf(sent), ...noReply }]));
/** Messages that are typed and not sent. */
const drafts = new Map(takeUnsent('messages') as [string, string][] | undefined);
/** An accepted message is in its conversation, also in the next document. */
const notAccepted = () => [...answers].filter(([, { messageId }]) => messageId === undefined);
const isRefused = ({ failure, mayBeAnswered }: PendingAnswer) => failure !== undefined && !mayBeAnswered;
const unlessEmpty = <Entry>(entries: Entry[]) => (entries.length > 0 ? entries : undefined);
watchUnsent('messages', () => {
  const refused = notAccepted().filter(([, answer]) => isRefused(answer));
  return unlessEmpty([...refused.map(([key, { sent }]) => [key, sent.message]), ...drafts]);
});
watchUnsent('messages without a reply', () => {
  const others = notAccepted().filter(([, answer]) => !isRefused(answer));
  return unlessEmpty(others.map(([key, { sent }]) => [key, sent]));
});
/** New conversations that have an id which their page does not show yet: the key with the id, by the key without. */
const moved = new Map<string, string>();
const listeners = createListeners();
const ownKeyOf = ({ environment, agentId, conversationId = 'new' }: Conversation) => `${environment}/${agentId}/${conversationId}`;

function keyOf(conversation: Conversation): string {
  const key = ownKeyOf(conversation);
  return moved.get(key) ?? key;
}

function set(key: string, answer: PendingAnswer | undefined) {
  if (answer) answers.set(key, answer);
  else answers.delete(key);
  listeners.notify();
}

/** The answer under way in a conversation, or the failure of the last one. */
export function usePendingAnswer(conversation: Conversation): PendingAnswer | undefined {
  const key = keyOf(conversation);
  return useSyncExternalStore(listeners.subscribe, () => answers.get(key));
}

export function useDraft(conversation: Conversation): string {
  const key = keyOf(conversation);
  return useSyncExternalStore(listeners.subscribe, () => drafts.get(key) ?? '');
}

export function setDraft(conversation: Conversation, text: string): void {
  if (text) drafts.set(keyOf(conversation), text);
  else drafts.delete(keyOf(conversation));
  listeners.notify();
}

/** Moves the answer of a new conversation that has got its id, with the draft that was typed below the message. */
function move(before: string, after: string, answer: PendingAnswer, isShown: boolean) {
  const draft = drafts.get(before);
  if (draft !== undefined) drafts.set(after, draft);
  drafts.delete(before);
  answers.delete(before);
  if (isShown) moved.set(before, after);
  set(after, answer);
}

/** To be called when the page of a conversation appears, and when it is left. */
export const endMove = (conversation: Conversation): void => void (moved.delete(ownKeyOf(conversation)) && listeners.notify());

/** A message that was not accepted is in no list of messages, so its text goes back to where it was typed. */
export function dismissFailure(conversation: Conversation): void {
  const key = keyOf(conversation);
  const failed = answers.get(key);
  if (failed && failed.messageId === undefined && !drafts.has(key)) drafts.set(key, failed.sent.message);
  set(key, undefined);
}

/** Gets the id of a new conversation as soon as there is one. True if its page is shown, and changes to that id. */
type OnConversation = (id: string) => boolean;

/** Sends a message and follows its answer. */
export const sendMessage = (conversation: Conversation, text: string, onConversation: OnConversation): Promise<void> =>
  followAnswer(conversation, pendingOf(withNewKey({ ...conversation, message: text })), onConversation);

function pendingOf(sent: SentMessage): PendingAnswer {
  const { conversationId } = sent;
  return { sent, conversationId, messageId: undefined, text: '', steps: [], failure: undefined, mayBeAnswered: false };
}

/** Sends a message again after a failure. Where it may have been answered, the same answer is followed, so that nothing is charged twice. */
export const sendAgain = (conversation: Conversation, pending: PendingAnswer, onConversation: OnConversation): Promise<void> =>
  pending.mayBeAnswered
    ? followAnswer(conversation, { ...pending, failure: undefined, mayBeAnswered: false }, onConversation)
    : sendMessage(conversation, pending.sent.message, onConversation);

async function followAnswer(conversation: Conversation, pending: PendingAnswer, onConversation: OnConversation): Promise<void> {
  const { environment, agentId } = conversation;
  let key = ownKeyOf(conversation);
  let answer = pending;
  set(key, answer);
  try {
    for await (const event of streamAnswer(answer.sent)) {
      answer = applyEvent(answer, event);
      const { conversationId } = answer;
      if (conversationId && !conversation.conversationId && key === ownKeyOf(conversation)) {
        const before = key;
        key = ownKeyOf({ ...conversation, conversationId });
        move(before, key, answer, onConversation(conversationId));
      } else set(key, answer);
    }
  } catch (cause) {
    answer = { ...answer, failure: messageOf(cause), mayBeAnswered: answer.messageId !== undefined || !isRefusal(cause) };
  }
  await Promise.all([
    readConversationsAgain(queryClient, environment, agentId),
    queryClient.invalidateQueries({ queryKey: [environment, 'conversations', agentId, 'messages'] }),
    queryClient.invalidateQueries({ queryKey: [environment, 'credits'] }),
  ]);
  set(key, answer.failure ? answer : undefined);
}

function applyEvent(answer: PendingAnswer, { type, data }: StreamEvent): PendingAnswer {
  switch (type) {
    case 'accepted':
      return {
        ...answer,
        messageId: String(data.message_id),
        ...(data.conversation_id !== undefined && { conversationId: String(data.conversation_id) }),
      };
    case 'started':
      return { ...answer, messageId: String(data.message_id), conversationId: String(data.conversation_id), text: '', steps: [] };
    case 'delta':
      return { ...answer, text: answer.text + String(data.text) };
    case 'tool':
      return { ...answer, steps: [...answer.steps, data as unknown as AnswerStep] };
    case 'completed':
      return { ...answer, text: String(data.content) };
    case 'failed': {
      const { code, message = 'The answer failed.' } = (data.error ?? {}) as { code?: string; message?: string };
      // The messages of the conversation say that it was cancelled, which is what the user wanted.
      return code === 'answer_cancelled' && answer.conversationId ? answer : { ...answer, failure: message };
    }
    default:
      return answer;
  }
}
