import type { AgentSummary, TemplateSummary } from '@agent-service/client';
import * as RadixDialog from '@radix-ui/react-dialog';
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { ArrowLeftRight, Bot, LayoutTemplate, type LucideIcon, MessageSquare, MessagesSquare, Moon, Plus, Sun } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { api, bodyOf } from '../api/client.ts';
import { messageOf } from '../api/errors.ts';
import { newestAgentsQuery, type RecentConversation, recentConversationsQuery } from '../api/lists.ts';
import { useSession } from '../api/session.ts';
import { Notice } from '../ui/feedback.tsx';
import { typingPauseMs } from '../ui/table.tsx';
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
  const search = useAfterPause(typed.trim());
  const matches = useMatches(search);
  const isSearching = matches.isSearching || search !== typed.trim();
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
              {matches.failure && <Notice tone="danger">The search is not complete. {messageOf(matches.failure)}</Notice>}
              {!isSearching && !matches.failure && <Command.Empty>Nothing matches.</Command.Empty>}
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
              {/* cmdk reads the keywords of an entry once, and selects an entry that is added to none. */}
              <AgentEntries key={`agents ${matches.agents.by}`} {...matches.agents} onRun={run} />
              {search && <ConversationEntries conversations={matches.conversations} onRun={run} />}
              {search && <TemplateEntries key={`templates ${matches.templates.by}`} {...matches.templates} onRun={run} />}
            </Command.List>
          </Command>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

/** The text once the typing pauses. */
function useAfterPause(text: string): string {
  const [search, setSearch] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text), typingPauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return search;
}

interface Found<Row> {
  rows: Row[];
  /** The text that the API found the rows by, maybe in their descriptions. */
  by: string;
}

const foundOf = <Row,>(query: UseQueryResult<{ data: Row[] }>, search: string): Found<Row> => ({
  rows: query.data?.data ?? [],
  by: query.isPlaceholderData ? '' : search,
});

/** Some agents for no text; agents and templates, which the API searches, and the titles of recent conversations for a text. */
function useMatches(search: string) {
  const environment = useEnvironment();
  const enabled = search !== '';
  const agents = useQuery({
    queryKey: [environment, 'agents', 'palette', search],
    queryFn: ({ signal }) =>
      bodyOf(api(environment).GET('/v1/agents', { params: { query: { limit: maxAgents, ...(search && { search }) } }, signal })),
    placeholderData: keepPreviousData,
  });
  const templates = useQuery({
    queryKey: [environment, 'templates', 'palette', search],
    queryFn: ({ signal }) => bodyOf(api(environment).GET('/v1/templates', { params: { query: { limit: maxOthers, search } }, signal })),
    placeholderData: keepPreviousData,
    enabled,
  });
  const newest = useQuery({ ...newestAgentsQuery(environment), enabled });
  const conversations = useQuery(recentConversationsQuery(environment, enabled ? newest.data?.rows : undefined, conversationsSearched));
  const queries = [agents, templates, newest, conversations];
  return {
    agents: foundOf(agents, search),
    templates: foundOf(templates, search),
    conversations: (conversations.data ?? [])
      .filter(({ title }) => title?.toLowerCase().includes(search.toLowerCase()))
      .slice(0, maxOthers),
    isSearching: queries.some(({ isFetching, isPending, isPlaceholderData }) => isFetching && (isPending || isPlaceholderData)),
    failure: queries.find(({ error }) => error)?.error,
  };
}

interface OnRun {
  onRun: (act: () => unknown) => () => void;
}

function AgentEntries({ rows, by, onRun }: Found<AgentSummary> & OnRun) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  if (rows.length === 0) return null;
  return (
    <Command.Group heading="Agents">
      {rows.map(({ id, name }) => (
        <Entry
          key={id}
          icon={Bot}
          value={`${name} ${id}`}
          keywords={[by]}
          label={name}
          onSelect={onRun(() => navigate({ to: '/$environment/agents/$agentId', params: { environment, agentId: id } }))}
        />
      ))}
      {rows.map(({ id, name, status }) =>
        status === 'active' ? (
          <Entry
            key={id}
            icon={MessageSquare}
            value={`Chat with ${name} ${id}`}
            keywords={[by]}
            label={`Chat with ${name}`}
            onSelect={onRun(() => navigate({ to: '/$environment/chat/$agentId/{-$conversationId}', params: { environment, agentId: id } }))}
          />
        ) : null,
      )}
    </Command.Group>
  );
}

function ConversationEntries({ conversations, onRun }: { conversations: RecentConversation[] } & OnRun) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  if (conversations.length === 0) return null;
  return (
    <Command.Group heading="Conversations">
      {conversations.map(({ id, agent_id: agentId, title, agentName }) => (
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
  );
}

function TemplateEntries({ rows, by, onRun }: Found<TemplateSummary> & OnRun) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  if (rows.length === 0) return null;
  return (
    <Command.Group heading="Templates">
      {rows.map(({ id, name }) => (
        <Entry
          key={id}
          icon={LayoutTemplate}
          value={`${name} ${id}`}
          keywords={[by]}
          label={name}
          onSelect={onRun(() => navigate({ to: '/$environment/templates/$templateId', params: { environment, templateId: id } }))}
        />
      ))}
    </Command.Group>
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
