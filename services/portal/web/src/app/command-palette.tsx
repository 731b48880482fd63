import type { AgentSummary } from '@agent-service/client';
import * as RadixDialog from '@radix-ui/react-dialog';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { ArrowLeftRight, Bot, LayoutTemplate, type LucideIcon, MessageSquare, MessagesSquare, Moon, Plus, Sun } from 'lucide-react';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { api, bodyOf } from '../api/client.ts';
import { newestAgentsQuery, recentConversationsQuery } from '../api/lists.ts';
import { useSession } from '../api/session.ts';
import { destinationsOf } from './navigation.ts';
import { setTheme } from './theme.ts';
import { useEnvironment } from './use-environment.ts';

const maxAgents = 8;
/** Limits the templates, and the conversations. */
const maxOthers = 5;
const conversationsSearched = 50;

/** Pages, actions, agents, templates and recent conversations by name: Ctrl K. */
// biome-ignore lint/style/noDefaultExport: React.lazy loads the default export.
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const environment = useEnvironment();
  const session = useSession();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed.trim());
  const { data } = useQuery({
    queryKey: [environment, 'agents', 'palette', search],
    queryFn: () => bodyOf(api(environment).GET('/v1/agents', { params: { query: { limit: maxAgents, ...(search && { search }) } } })),
    placeholderData: keepPreviousData,
  });
  const run = (act: () => unknown) => () => {
    onClose();
    act();
  };
  const other = environment === 'live' ? 'test' : 'live';
  return (
    <RadixDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <RadixDialog.Portal>
        <div className="overlay" aria-hidden="true" />
        <RadixDialog.Content className="dialog palette" aria-describedby={undefined}>
          <RadixDialog.Title className="visually-hidden">Search</RadixDialog.Title>
          <Command label="Search" loop>
            <Command.Input placeholder="Search, or go to a page" value={typed} onValueChange={setTyped} autoFocus />
            <Command.List>
              <Command.Empty>Nothing matches.</Command.Empty>
              <Command.Group heading="Pages">
                {destinationsOf(session)
                  .flatMap(({ destinations }) => destinations)
                  .map(({ to, label, icon }) => (
                    <Entry key={to} icon={icon} value={label} onSelect={run(() => navigate({ to, params: { environment } }))} />
                  ))}
              </Command.Group>
              <Command.Group heading="Actions">
                {session.user.role === 'admin' && (
                  <Entry
                    icon={Plus}
                    value="Create an agent"
                    onSelect={run(() => navigate({ to: '/$environment/agents/new', params: { environment } }))}
                  />
                )}
                <Entry
                  icon={ArrowLeftRight}
                  value={`Switch to the ${other} environment`}
                  onSelect={run(() => navigate({ to: '/$environment', params: { environment: other } }))}
                />
                <Entry icon={Sun} value="Use the light theme" onSelect={run(() => setTheme('light'))} />
                <Entry icon={Moon} value="Use the dark theme" onSelect={run(() => setTheme('dark'))} />
              </Command.Group>
              {data && data.data.length > 0 && <AgentEntries agents={data.data} onRun={run} />}
              {search && <OtherEntries search={search} onRun={run} />}
            </Command.List>
          </Command>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

interface AgentEntriesProps {
  agents: AgentSummary[];
  onRun: (act: () => unknown) => () => void;
}

function AgentEntries({ agents, onRun }: AgentEntriesProps) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  return (
    <Command.Group heading="Agents">
      {agents.map(({ id, name }) => (
        <Entry
          key={id}
          icon={Bot}
          value={`${name} ${id}`}
          label={name}
          onSelect={onRun(() => navigate({ to: '/$environment/agents/$agentId', params: { environment, agentId: id } }))}
        />
      ))}
      {agents.map(({ id, name, status }) =>
        status === 'active' ? (
          <Entry
            key={id}
            icon={MessageSquare}
            value={`Chat with ${name} ${id}`}
            label={`Chat with ${name}`}
            onSelect={onRun(() => navigate({ to: '/$environment/chat/$agentId/{-$conversationId}', params: { environment, agentId: id } }))}
          />
        ) : null,
      )}
    </Command.Group>
  );
}

interface OtherEntriesProps {
  search: string;
  onRun: (act: () => unknown) => () => void;
}

/** Entries that are shown for a search only: templates, which the API searches, and the titles of recent conversations. */
function OtherEntries({ search, onRun }: OtherEntriesProps) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const templates = useQuery({
    queryKey: [environment, 'templates', 'palette', search],
    queryFn: () => bodyOf(api(environment).GET('/v1/templates', { params: { query: { limit: maxOthers, search } } })),
    placeholderData: keepPreviousData,
  });
  const agents = useQuery(newestAgentsQuery(environment));
  const conversations = useQuery(recentConversationsQuery(environment, agents.data?.rows, conversationsSearched));
  const matching = conversations.data?.filter(({ title }) => title?.toLowerCase().includes(search.toLowerCase())).slice(0, maxOthers);
  return (
    <>
      {matching && matching.length > 0 && (
        <Command.Group heading="Conversations">
          {matching.map(({ id, agent_id: agentId, title, agentName }) => (
            <Entry
              key={id}
              icon={MessagesSquare}
              value={`${title} ${id}`}
              label={`${title} · ${agentName}`}
              onSelect={onRun(() =>
                navigate({ to: '/$environment/chat/$agentId/{-$conversationId}', params: { environment, agentId, conversationId: id } }),
              )}
            />
          ))}
        </Command.Group>
      )}
      {templates.data && templates.data.data.length > 0 && (
        <Command.Group heading="Templates">
          {templates.data.data.map(({ id, name }) => (
            <Entry
              key={id}
              icon={LayoutTemplate}
              value={`${name} ${id}`}
              // The API finds words of the description as well.
              keywords={[search]}
              label={name}
              onSelect={onRun(() => navigate({ to: '/$environment/templates/$templateId', params: { environment, templateId: id } }))}
            />
          ))}
        </Command.Group>
      )}
    </>
  );
}

interface EntryProps {
  icon: LucideIcon;
  value: string;
  label?: ReactNode;
  keywords?: string[];
  onSelect: () => void;
}

function Entry({ icon: Icon, value, label = value, keywords = [], onSelect }: EntryProps) {
  return (
    <Command.Item value={value} keywords={keywords} onSelect={onSelect}>
      <Icon size={16} aria-hidden="true" />
      <span className="truncate" dir="auto">
        {label}
      </span>
    </Command.Item>
  );
}
