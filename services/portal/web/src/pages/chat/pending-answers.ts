import { useSyncExternalStore } from 'react';
import { type StreamEvent, streamAnswer } from '../../api/answer-stream.ts';
import type { Environment } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { queryClient } from '../../api/query-client.ts';

export interface AnswerStep {
  name: string;
  detail: string;
  rows: number;
  error: string | null;
}

/** An answer under way. It lives outside of the page, so that it goes on while the user looks at something else. */
export interface PendingAnswer {
  conversationId: string | undefined;
  messageId: string | undefined;
  prompt: string;
  text: string;
  steps: readonly AnswerStep[];
  failure: string | undefined;
  abort: AbortController;
}

interface Conversation {
  environment: Environment;
  agentId: string;
  conversationId: string | undefined;
}

const answers = new Map<string, PendingAnswer>();
const listeners = new Set<() => void>();
const keyOf = ({ environment, agentId, conversationId = 'new' }: Conversation) => `${environment}/${agentId}/${conversationId}`;

function set(key: string, answer: PendingAnswer | undefined) {
  if (answer) answers.set(key, answer);
  else answers.delete(key);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The answer under way in a conversation, or the failure of the last one. */
export function usePendingAnswer(conversation: Conversation): PendingAnswer | undefined {
  const key = keyOf(conversation);
  return useSyncExternalStore(subscribe, () => answers.get(key));
}

export const dismissFailure = (conversation: Conversation) => set(keyOf(conversation), undefined);

/** Sends a message and follows its answer. `onConversation` gets the id of a new conversation as soon as there is one. */
export async function sendPrompt(conversation: Conversation, prompt: string, onConversation: (id: string) => void): Promise<void> {
  const { environment, agentId } = conversation;
  let key = keyOf(conversation);
  let answer: PendingAnswer = {
    conversationId: conversation.conversationId,
    messageId: undefined,
    prompt,
    text: '',
    steps: [],
    failure: undefined,
    abort: new AbortController(),
  };
  set(key, answer);
  const isListed = () => queryClient.invalidateQueries({ queryKey: [environment, 'conversations', agentId] });
  try {
    for await (const event of streamAnswer({ ...conversation, message: prompt }, answer.abort.signal)) {
      answer = applyEvent(answer, event);
      const { conversationId } = answer;
      if (conversationId && !conversation.conversationId && key === keyOf(conversation)) {
        set(key, undefined);
        key = keyOf({ ...conversation, conversationId });
        set(key, answer);
        onConversation(conversationId);
      } else set(key, answer);
    }
  } catch (cause) {
    answer = { ...answer, failure: messageOf(cause) };
  }
  await Promise.all([isListed(), queryClient.invalidateQueries({ queryKey: [environment, 'credits'] })]);
  set(key, answer.failure ? answer : undefined);
}

function applyEvent(answer: PendingAnswer, { type, data }: StreamEvent): PendingAnswer {
  switch (type) {
    case 'accepted':
      return { ...answer, messageId: String(data.message_id) };
    case 'started':
      return { ...answer, messageId: String(data.message_id), conversationId: String(data.conversation_id), text: '', steps: [] };
    case 'delta':
      return { ...answer, text: answer.text + String(data.text) };
    case 'tool':
      return { ...answer, steps: [...answer.steps, data as unknown as AnswerStep] };
    case 'completed':
      return { ...answer, text: String(data.content) };
    case 'failed':
      return { ...answer, failure: String((data.error as { message?: string } | undefined)?.message ?? 'The answer failed.') };
    default:
      return answer;
  }
}
