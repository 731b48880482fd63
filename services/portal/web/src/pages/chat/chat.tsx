import type { AgentSummary } from '@agent-service/client';
import * as RadixDialog from '@radix-ui/react-dialog';
import { useQuery } from '@tanstack/react-query';
import { Navigate, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { MessageSquare, MessagesSquare, SquarePen } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { isLost } from '../../api/errors.ts';
import { activeAgentsQuery, agentQuery, newestAgentsQuery } from '../../api/lists.ts';
import { useIsAdmin } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Empty, Failure, Loading } from '../../ui/feedback.tsx';
import { CutOption } from '../../ui/form.tsx';
import { FailedPage, Page, usePageStart } from '../../ui/page.tsx';
import { Conversations } from './conversations.tsx';
import { Thread } from './thread.tsx';

/** Chat without an agent: opens the newest active one. */
export function ChatStartPage() {
  const environment = useEnvironment();
  const { data, error, refetch } = useQuery(newestAgentsQuery(environment));
  const newest = data?.rows[0];
  if (newest)
    return (
      <Navigate
        to="/$environment/chat/$agentId/{-$conversationId}"
        params={{ environment, agentId: newest.id, conversationId: undefined }}
        replace
      />
    );
  return (
    <Page title="Chat" description="Ask an agent about your data.">
      {error ? <Failure cause={error} onRetry={() => void refetch()} /> : data ? <NoAgent /> : <Loading />}
    </Page>
  );
}

function NoAgent() {
  const environment = useEnvironment();
  const isAdmin = useIsAdmin();
  return (
    <div className="table-frame">
      <Empty
        icon={MessageSquare}
        title="No agent to chat with"
        actions={
          isAdmin && (
            <ButtonLink to={`/${environment}/templates` as '/'} variant="primary">
              Browse templates
            </ButtonLink>
          )
        }
      >
        {isAdmin
          ? 'Activate a template, or make one of your own agents active. Then ask your first question here.'
          : 'An administrator has to make an agent active first.'}
      </Empty>
    </div>
  );
}

export function ChatPage() {
  const environment = useEnvironment();
  const { agentId = '', conversationId } = useParams({ strict: false });
  const { prompt } = useSearch({ strict: false });
  const [isListOpen, setListOpen] = useState(false);
  const { data: agent, error, refetch } = useQuery(agentQuery(environment, agentId));
  usePageStart(agent?.name ?? 'Chat');
  if (isLost(error, agent)) return <FailedPage title="Chat" cause={error} onRetry={() => void refetch()} />;
  const conversations = <Conversations agentId={agentId} current={conversationId} onNavigate={() => setListOpen(false)} />;
  return (
    <main className="chat" id="main" tabIndex={-1}>
      <div className="chat-side">{conversations}</div>
      <section className="chat-main" aria-label="Conversation">
        <header className="chat-head">
          <Drawer isOpen={isListOpen} onOpenChange={setListOpen}>
            {conversations}
          </Drawer>
          <h1 className="visually-hidden">Chat with {agent?.name ?? 'an agent'}</h1>
          <AgentChoice agentId={agentId} name={agent?.name} />
          <ButtonLink
            to="/$environment/chat/$agentId/{-$conversationId}"
            params={{ environment, agentId, conversationId: undefined }}
            icon={SquarePen}
            className="chat-new"
            aria-label="New conversation"
          />
        </header>
        {agent ? <Thread agent={agent} conversationId={conversationId} firstPrompt={prompt} /> : <Loading />}
      </section>
    </main>
  );
}

interface DrawerProps {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  children: ReactNode;
}

/** Radix would focus the menu of the first conversation: it skips links. */
function focusDrawer(event: Event) {
  event.preventDefault();
  (event.currentTarget as HTMLElement).focus();
}

/** In a narrow window the conversations are behind a button. */
function Drawer({ isOpen, onOpenChange, children }: DrawerProps) {
  return (
    <RadixDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <RadixDialog.Trigger asChild>
        <Button variant="ghost" icon={MessagesSquare} className="chat-toggle" aria-label="Conversations" />
      </RadixDialog.Trigger>
      <RadixDialog.Portal>
        <div className="overlay" aria-hidden="true" />
        <RadixDialog.Content className="dialog drawer chat-drawer" aria-describedby={undefined} onOpenAutoFocus={focusDrawer}>
          <RadixDialog.Title className="visually-hidden">Conversations</RadixDialog.Title>
          {children}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

/** The active agents; one that is not among them, as an inactive one, is named too. */
function AgentChoice({ agentId, name }: { agentId: string; name: string | undefined }) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const { data } = useQuery(activeAgentsQuery(environment));
  const agents = data?.rows ?? [];
  const listed: Pick<AgentSummary, 'id' | 'name'>[] =
    name !== undefined && !agents.some(({ id }) => id === agentId) ? [{ id: agentId, name }, ...agents] : agents;
  const open = (id: string) =>
    void navigate({
      to: '/$environment/chat/$agentId/{-$conversationId}',
      params: { environment, agentId: id, conversationId: undefined },
    });
  return (
    <select className="select agent-choice" aria-label="Agent" value={agentId} onChange={(event) => open(event.target.value)}>
      {listed.map((agent) => (
        <option key={agent.id} value={agent.id}>
          {agent.name}
        </option>
      ))}
      <CutOption list={data} />
    </select>
  );
}
