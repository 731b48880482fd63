import type { Agent } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { MessageSquare, Pencil, Play } from 'lucide-react';
import { isLost } from '../../api/errors.ts';
import { agentQuery } from '../../api/lists.ts';
import { useIsAdmin } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ActionButton, ButtonLink } from '../../ui/button.tsx';
import { Loading } from '../../ui/feedback.tsx';
import { Tabs } from '../../ui/filters.tsx';
import { Time } from '../../ui/format.tsx';
import { BackIcon, Fact, FailedPage, Page, Section } from '../../ui/page.tsx';
import { AgentData } from './agent-data.tsx';
import { AgentMenu, useSetStatus } from './agent-menu.tsx';
import { AgentStatus, formats } from './agent-parts.tsx';
import { UseTheApi } from './use-the-api.tsx';

const tabs = [
  { id: undefined, label: 'Overview' },
  { id: 'data', label: 'Visible data', adminOnly: true },
  { id: 'api', label: 'Use the API' },
];

export function AgentPage() {
  const environment = useEnvironment();
  const isAdmin = useIsAdmin();
  const { agentId = '' } = useParams({ strict: false });
  const { tab } = useSearch({ strict: false });
  const { data: agent, error, refetch } = useQuery(agentQuery(environment, agentId));
  if (isLost(error, agent)) return <FailedPage title="Agent" cause={error} onRetry={() => void refetch()} />;
  if (!agent) return <Loading />;
  const back = (
    <Link to="/$environment/agents" params={{ environment }} className="breadcrumb">
      <BackIcon /> Agents
    </Link>
  );
  return (
    <Page
      title={agent.name}
      description={agent.description}
      back={back}
      heading={
        <>
          {agent.name} <AgentStatus status={agent.status} />
        </>
      }
      actions={<Actions agent={agent} isAdmin={isAdmin} />}
    >
      <Tabs label="Views of the agent" tabs={tabs.filter(({ adminOnly }) => !adminOnly || isAdmin)} current={tab} />
      <div className="tab-body">
        {tab === 'api' ? <UseTheApi agent={agent} /> : tab === 'data' && isAdmin ? <AgentData agent={agent} /> : <Overview agent={agent} />}
      </div>
    </Page>
  );
}

function Actions({ agent, isAdmin }: { agent: Agent; isAdmin: boolean }) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const setStatus = useSetStatus();
  const params = { environment, agentId: agent.id };
  return (
    <>
      {isAdmin && (
        <ButtonLink to="/$environment/agents/$agentId/edit" params={params} icon={Pencil}>
          Edit
        </ButtonLink>
      )}
      {agent.status === 'active' ? (
        <ButtonLink to="/$environment/chat/$agentId/{-$conversationId}" params={params} variant="primary" icon={MessageSquare}>
          Chat
        </ButtonLink>
      ) : (
        isAdmin && (
          <ActionButton variant="primary" icon={Play} onClick={() => setStatus(agent, 'active')}>
            Make active
          </ActionButton>
        )
      )}
      {isAdmin && <AgentMenu agent={agent} onDeleted={() => void navigate({ to: '/$environment/agents', params: { environment } })} />}
    </>
  );
}

function Overview({ agent }: { agent: Agent }) {
  const environment = useEnvironment();
  const { data_scope: scope, output_preferences: output, suggested_prompts: prompts, source_template_id: template } = agent;
  return (
    <div className="stack loose">
      <dl className="facts">
        <Fact label="Model">{agent.model}</Fact>
        <Fact label="Category">{agent.category || '–'}</Fact>
        <Fact label="Answers">
          {formats[output.default_format]}
          {output.chart_enabled && ', with charts'}
        </Fact>
        <Fact label="Changed">
          <Time iso={agent.updated_at} />
        </Fact>
        <Fact label="Created">
          <Time iso={agent.created_at} />
        </Fact>
        <Fact label="Id">
          <span className="mono small wrap">{agent.id}</span>
        </Fact>
        {template && (
          <Fact label="Template">
            <Link to="/$environment/templates/$templateId" params={{ environment, templateId: template }} className="link">
              {template}
            </Link>
          </Fact>
        )}
      </dl>
      <Section title="Instructions">
        <pre className="instructions" dir="auto">
          {agent.system_prompt}
        </pre>
      </Section>
      <Section title="Data" description={scope.read_only ? 'The agent can only read.' : 'The agent may also insert and change rows.'}>
        {scope.tables.length === 0 ? (
          <p className="muted">No tables: it answers from its instructions alone.</p>
        ) : (
          <ul className="chips">
            {scope.tables.map((entry) => (
              <li key={entry} className="chip mono" dir="auto">
                {entry}
              </li>
            ))}
          </ul>
        )}
      </Section>
      {prompts.length > 0 && <Prompts agent={agent} />}
    </div>
  );
}

function Prompts({ agent }: { agent: Agent }) {
  const environment = useEnvironment();
  return (
    <Section title="Suggested prompts">
      <ul className="stack tight">
        {agent.suggested_prompts.map((prompt) => (
          <li key={prompt} dir="auto" className="wrap">
            {agent.status === 'active' ? (
              <Link
                to="/$environment/chat/$agentId/{-$conversationId}"
                params={{ environment, agentId: agent.id }}
                search={{ prompt }}
                className="link"
              >
                {prompt}
              </Link>
            ) : (
              prompt
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
