import type { TitledConversation } from '@agent-service/client';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Pencil, SquarePen, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { readConversationsAgain } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog, Menu } from '../../ui/dialog.tsx';
import { Failure, Notice, notify, Skeleton } from '../../ui/feedback.tsx';
import { TextField, useApiForm } from '../../ui/form.tsx';
import { plural, Time } from '../../ui/format.tsx';
import { conversationsQuery } from './queries.ts';

interface ListProps {
  agentId: string;
  current: string | undefined;
  onNavigate: () => void;
}

type Acting = { kind: 'rename' | 'delete'; conversation: TitledConversation };

/** The user's conversations with the agent. */
export function Conversations({ agentId, current, onNavigate }: ListProps) {
  const environment = useEnvironment();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isFetchNextPageError } = useInfiniteQuery(
    conversationsQuery(environment, agentId),
  );
  const [acting, setActing] = useState<Acting>();
  const conversations = data?.pages.flatMap((page) => page.data as TitledConversation[]);
  return (
    <nav className="conversations" aria-label="Conversations">
      <ButtonLink
        to="/$environment/chat/$agentId/{-$conversationId}"
        params={{ environment, agentId, conversationId: undefined }}
        icon={SquarePen}
        wide
        onClick={onNavigate}
      >
        New conversation
      </ButtonLink>
      {error && !data && <Failure cause={error} onRetry={() => void refetch()} />}
      {conversations?.length === 0 && <p className="muted small conversation-note">Your conversations with this agent appear here.</p>}
      <ul>
        {!data && !error && [1, 2, 3, 4].map((index) => <SkeletonItem key={index} />)}
        {conversations?.map((one) => (
          <li key={one.id} className="conversation">
            <Link
              to="/$environment/chat/$agentId/{-$conversationId}"
              params={{ environment, agentId, conversationId: one.id }}
              aria-current={one.id === current ? 'page' : undefined}
              onClick={onNavigate}
              preload={false}
            >
              <span className="truncate" dir="auto">
                {one.title || 'Untitled'}
              </span>
              <span className="muted small truncate">
                <Time iso={one.last_message_at} /> · {plural(one.total_credits, 'credit')}
              </span>
            </Link>
            <Menu
              label={`Actions of ${one.title || 'the conversation'}`}
              items={[
                { label: 'Rename', icon: Pencil, onSelect: () => setActing({ kind: 'rename', conversation: one }) },
                { label: 'Delete', icon: Trash2, danger: true, onSelect: () => setActing({ kind: 'delete', conversation: one }) },
              ]}
            />
          </li>
        ))}
      </ul>
      {isFetchNextPageError && <Notice tone="danger">{messageOf(error)}</Notice>}
      {hasNextPage && (
        <Button variant="ghost" wide busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
      {acting?.kind === 'rename' && <Rename {...acting} agentId={agentId} onClose={() => setActing(undefined)} />}
      {acting?.kind === 'delete' && (
        <Delete {...acting} agentId={agentId} isCurrent={acting.conversation.id === current} onClose={() => setActing(undefined)} />
      )}
    </nav>
  );
}

function SkeletonItem() {
  return (
    <li className="conversation">
      <div>
        <Skeleton width="80%" />
        <Skeleton width="50%" />
      </div>
    </li>
  );
}

interface DialogProps {
  conversation: TitledConversation;
  agentId: string;
  onClose: () => void;
}

function Rename({ conversation, agentId, onClose }: DialogProps) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const form = useApiForm({ title: conversation.title }, async ({ title }) => {
    const path = { agent_id: agentId, conversation_id: conversation.id };
    await bodyOf(api(environment).PATCH('/v1/agents/{agent_id}/conversations/{conversation_id}', { params: { path }, body: { title } }));
    await readConversationsAgain(client, environment, agentId);
    onClose();
  });
  return (
    <FormDialog title="Rename the conversation" onClose={onClose} form={form} action="Save">
      <TextField label="Title" maxLength={200} error={form.errorOf('title')} {...form.register('title')} />
    </FormDialog>
  );
}

function Delete({ conversation, agentId, isCurrent, onClose }: DialogProps & { isCurrent: boolean }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = async () => {
    const path = { agent_id: agentId, conversation_id: conversation.id };
    await api(environment).DELETE('/v1/agents/{agent_id}/conversations/{conversation_id}', { params: { path } });
    notify('The conversation was deleted.');
    if (isCurrent)
      await navigate({
        to: '/$environment/chat/$agentId/{-$conversationId}',
        params: { environment, agentId, conversationId: undefined },
      });
    await readConversationsAgain(client, environment, agentId);
  };
  return (
    <ConfirmDialog title="Delete this conversation?" action="Delete" onConfirm={remove} onClose={onClose}>
      Its messages are deleted. The records of what its answers cost stay.
    </ConfirmDialog>
  );
}
