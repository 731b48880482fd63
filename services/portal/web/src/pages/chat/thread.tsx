import type { Agent, ListedMessage } from '@agent-service/client';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { ArrowUp, Square } from 'lucide-react';
import { useCallback, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { readConversationsAgain } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { Failure, Loading, Notice, notifyFailure } from '../../ui/feedback.tsx';
import { Answer, PendingBubble, UserMessage } from './message.tsx';
import {
  type Conversation,
  dismissFailure,
  endMove,
  type PendingAnswer,
  sendAgain,
  sendMessage,
  setDraft,
  useDraft,
  usePendingAnswer,
} from './pending-answers.ts';
import { isUnderWay, messagesQuery, useAwaitedAnswer } from './queries.ts';

interface ThreadProps {
  agent: Agent;
  conversationId: string | undefined;
  firstPrompt: string | undefined;
}

const titleLength = 80;

/** A conversation: its messages, and the box for the next one. */
export function Thread({ agent, conversationId, firstPrompt }: ThreadProps) {
  const environment = useEnvironment();
  const router = useRouter();
  const client = useQueryClient();
  const conversation = { environment, agentId: agent.id, conversationId };
  const pending = usePendingAnswer(conversation);
  const listed = useInfiniteQuery({
    ...messagesQuery(environment, agent.id, conversationId ?? ''),
    enabled: conversationId !== undefined,
  }).data?.pages[0]?.data.find(isUnderWay);
  const underWay = underWayOf(pending, listed);
  // The stream tells the end of an answer of this page.
  useAwaitedAnswer(environment, agent.id, conversationId ?? '', pending && !pending.failure ? undefined : listed?.id);
  useEffect(() => {
    const end = () => endMove({ environment, agentId: agent.id, conversationId });
    end();
    return end;
  }, [environment, agent.id, conversationId]);
  const nameConversation = (id: string, prompt: string) => {
    const path = { agent_id: agent.id, conversation_id: id };
    // By characters: half of an emoji is no text.
    const title = [...prompt.replaceAll(/\s+/g, ' ')].slice(0, titleLength).join('');
    bodyOf(api(environment).PATCH('/v1/agents/{agent_id}/conversations/{conversation_id}', { params: { path }, body: { title } }))
      .then(() => readConversationsAgain(client, environment, agent.id))
      .catch(notifyFailure);
  };
  const openConversation = (prompt: string) => (id: string) => {
    nameConversation(id, prompt);
    const to = '/$environment/chat/$agentId/{-$conversationId}';
    const params = { environment, agentId: agent.id };
    // The user may have gone to another page by now.
    const { pathname } = router.buildLocation({ to, params: { ...params, conversationId: undefined } });
    const isShown = router.latestLocation.pathname === pathname;
    if (isShown) void router.navigate({ to, params: { ...params, conversationId: id }, replace: true });
    return isShown;
  };
  const send = (prompt: string) => {
    const text = prompt.trim();
    if (text && !underWay) void sendMessage(conversation, text, openConversation(text));
  };
  return (
    <>
      {conversationId ? (
        <Messages key={conversationId} agent={agent} conversationId={conversationId} pending={pending} />
      ) : (
        <ScrollArea key={agent.id} watch={pending}>
          {pending ? <PendingBubble pending={pending} withMessage /> : <Welcome agent={agent} onPrompt={send} />}
        </ScrollArea>
      )}
      {pending?.failure && (
        <FailureNotice
          conversation={conversation}
          pending={pending}
          onSendAgain={() => void sendAgain(conversation, pending, openConversation(pending.sent.message))}
        />
      )}
      <Composer agent={agent} conversation={conversation} firstPrompt={firstPrompt} underWay={underWay} onSend={send} />
    </>
  );
}

interface UnderWay {
  /** The same for the whole answer. */
  key: string;
  /** Unknown until the message is accepted. */
  messageId: string | undefined;
}

/** The answer that the next message has to wait for: one of this page, or one that another window or this one before a reload began. */
function underWayOf(pending: PendingAnswer | undefined, listed: ListedMessage | undefined): UnderWay | undefined {
  if (pending && !pending.failure) return { key: pending.sent.key, messageId: pending.messageId };
  return listed && { key: listed.id, messageId: listed.id };
}

interface FailureProps {
  conversation: Conversation;
  pending: PendingAnswer;
  onSendAgain: () => void;
}

/** A failure that does not tell whether there is an answer is over when the answer is listed. */
function FailureNotice({ conversation, pending, onSendAgain }: FailureProps) {
  const { environment, agentId, conversationId } = conversation;
  const { data } = useInfiniteQuery({
    ...messagesQuery(environment, agentId, conversationId ?? ''),
    enabled: conversationId !== undefined,
  });
  const listed = data?.pages.flatMap((page) => page.data).find(({ id, role }) => id === pending.messageId && role === 'assistant');
  const isAnswered = pending.mayBeAnswered && listed !== undefined && !isUnderWay(listed);
  const dismiss = useEffectEvent(() => dismissFailure(conversation));
  useEffect(() => {
    if (isAnswered) dismiss();
  }, [isAnswered]);
  if (isAnswered) return null;
  return (
    <div className="chat-notice">
      <Notice tone="danger">
        {pending.failure} {pending.mayBeAnswered && 'Sent again, the question is not charged twice. '}
        <button type="button" className="link" onClick={onSendAgain}>
          Send it again
        </button>{' '}
        or{' '}
        <button type="button" className="link" onClick={() => dismissFailure(conversation)}>
          dismiss
        </button>
      </Notice>
    </div>
  );
}

function Welcome({ agent, onPrompt }: { agent: Agent; onPrompt: (prompt: string) => void }) {
  return (
    <div className="welcome">
      <h2 dir="auto">{agent.name}</h2>
      <p className="muted wrap" dir="auto">
        {agent.welcome_message || agent.description || 'Ask a question about your data.'}
      </p>
      {agent.status === 'active' && (
        <ul className="prompts">
          {agent.suggested_prompts.map((prompt) => (
            <li key={prompt}>
              <button type="button" className="prompt-card" dir="auto" onClick={() => onPrompt(prompt)}>
                {prompt}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface MessagesProps {
  agent: Agent;
  conversationId: string;
  pending: PendingAnswer | undefined;
}

function Messages({ agent, conversationId, pending }: MessagesProps) {
  const environment = useEnvironment();
  const query = useInfiniteQuery(messagesQuery(environment, agent.id, conversationId));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  if (error && !data && !pending) return <Failure cause={error} onRetry={() => void refetch()} />;
  if (!data && !pending) return <Loading label="Reading the messages" />;
  const listed = (data?.pages.flatMap((page) => page.data) ?? []).toReversed();
  const isListed = listed.some(({ id }) => id === pending?.messageId);
  // The answer that arrives, or the notice of its failure, stands in place of the listed one. A notice that does not tell how it ended stands beside it.
  const messages = pending?.failure && pending.mayBeAnswered ? listed : listed.filter(({ id }) => id !== pending?.messageId);
  return (
    <>
      <ScrollArea watch={pending ?? data} firstId={messages[0]?.id}>
        {hasNextPage && (
          <Button variant="ghost" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show earlier messages
          </Button>
        )}
        {messages.map((message) => (
          <MessageView key={message.id} agent={agent} message={message} />
        ))}
        {pending && <PendingBubble pending={pending} withMessage={!isListed} />}
      </ScrollArea>
      {error && (
        <div className="chat-notice">
          <Notice tone="danger">
            {messageOf(error)}{' '}
            <button type="button" className="link" onClick={() => void refetch()}>
              Read the messages again
            </button>
          </Notice>
        </div>
      )}
    </>
  );
}

function MessageView({ agent, message }: { agent: Agent; message: ListedMessage }) {
  return message.role === 'user' ? <UserMessage text={message.content} /> : <Answer agentId={agent.id} message={message} />;
}

const nearPx = 120;

interface ScrollProps {
  watch: unknown;
  firstId?: string | undefined;
  children: React.ReactNode;
}

/** Follows the end of what it shows. For a reader who has scrolled up nothing moves when messages are added before the first. */
function ScrollArea({ watch, firstId, children }: ScrollProps) {
  const area = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const fromEnd = useRef(0);
  const follow = useCallback(() => {
    if (area.current && follows.current) area.current.scrollTop = area.current.scrollHeight;
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of what is watched moves the end.
  useLayoutEffect(follow, [watch, follow]);
  // Browsers keep the place themselves, but not at the very top, where the reader asks for earlier messages.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another first message moves the others.
  useLayoutEffect(() => {
    if (area.current && !follows.current) area.current.scrollTop = area.current.scrollHeight - fromEnd.current;
  }, [firstId]);
  useEffect(() => {
    const content = area.current?.firstElementChild;
    if (!content) return;
    const observer = new ResizeObserver(() => {
      follow();
      fromEnd.current = endDistanceOf(area.current);
    });
    observer.observe(content);
    return () => observer.disconnect();
  }, [follow]);
  const onScroll = () => {
    fromEnd.current = endDistanceOf(area.current);
    follows.current = fromEnd.current - (area.current?.clientHeight ?? 0) < nearPx;
  };
  return (
    <div className="messages" ref={area} onScroll={onScroll} tabIndex={0} role="log" aria-label="Messages">
      <div className="messages-inner">{children}</div>
    </div>
  );
}

/** From the upper edge of what is visible to the end of the content. */
const endDistanceOf = (element: HTMLElement | null) => (element ? element.scrollHeight - element.scrollTop : 0);

interface ComposerProps {
  agent: Agent;
  conversation: Conversation;
  firstPrompt: string | undefined;
  underWay: UnderWay | undefined;
  onSend: (text: string) => void;
}

/** The key code of a key that an input method has taken. Safari says so for the Enter that ends a word, after the composition. */
const keyOfInputMethod = 229;

/** Stays as it is while the conversation gets its id, so that the cursor keeps its place in what is being typed. */
function Composer({ agent, conversation, firstPrompt, underWay, onSend }: ComposerProps) {
  const text = useDraft(conversation);
  const setText = (draft: string) => setDraft(conversation, draft);
  const { agentId, conversationId } = conversation;
  const box = useRef<HTMLTextAreaElement>(null);
  const begin = useEffectEvent(() => {
    if (firstPrompt && !text) setText(firstPrompt);
    // The user may choose an agent with the keyboard, or have opened a dialog while the page was loading, as the search.
    const isFree = !document.activeElement?.matches('button, select') && !document.querySelector('[role="dialog"]');
    if (isFree) box.current?.focus({ preventScroll: true });
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another conversation begins as this one did.
  useEffect(() => begin(), [agentId, conversationId, firstPrompt]);
  const isActive = agent.status === 'active';
  const send = () => {
    if (!text.trim() || underWay) return;
    onSend(text);
    setText('');
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {!isActive && <Notice tone="warning">This agent is not active, so it refuses messages.</Notice>}
      <div className="composer-box">
        <textarea
          ref={box}
          rows={1}
          dir="auto"
          aria-label="Message"
          placeholder={`Message ${agent.name}`}
          value={text}
          maxLength={32_000}
          disabled={!isActive}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing || event.keyCode === keyOfInputMethod) return;
            event.preventDefault();
            send();
          }}
        />
        {underWay ? (
          <CancelButton key={underWay.key} agent={agent} underWay={underWay} onCancel={() => box.current?.focus({ preventScroll: true })} />
        ) : (
          <Button type="submit" variant="primary" icon={ArrowUp} aria-label="Send" disabled={!text.trim() || !isActive} />
        )}
      </div>
    </form>
  );
}

interface CancelProps {
  agent: Agent;
  underWay: UnderWay;
  /** The button goes with the answer, so the focus has to go before. */
  onCancel: () => void;
}

function CancelButton({ agent, underWay: { messageId }, onCancel }: CancelProps) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const cancel = () => {
    if (!messageId) return;
    setBusy(true);
    onCancel();
    const path = { agent_id: agent.id, message_id: messageId };
    bodyOf(api(environment).POST('/v1/agents/{agent_id}/messages/{message_id}/cancel', { params: { path } }))
      .then(() => client.invalidateQueries({ queryKey: [environment, 'conversations', agent.id] }))
      .catch((cause) => {
        setBusy(false);
        notifyFailure(cause);
      });
  };
  return <Button icon={Square} aria-label="Cancel the answer" disabled={!messageId} busy={isBusy} onClick={cancel} />;
}
