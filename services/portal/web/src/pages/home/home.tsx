import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check, MessageSquare } from 'lucide-react';
import { useMemo } from 'react';
import { dataSourceStatusQuery, newestAgentsQuery, recentConversationsQuery } from '../../api/lists.ts';
import { useIsAdmin, useSession } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Empty, Failure, Skeleton } from '../../ui/feedback.tsx';
import { Figure } from '../../ui/figure.tsx';
import { plural, Time } from '../../ui/format.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { Bars } from '../../ui/rich/bars.tsx';
import { creditSettingsQuery, dayUsageQuery, hasUsageQuery, summaryQuery, useLastDays } from '../credits/usage-data.ts';
import { dayLabel, fillDays } from '../credits/usage-groups.ts';

export function HomePage() {
  const { user } = useSession();
  const environment = useEnvironment();
  const isAdmin = useIsAdmin();
  const firstName = user.name.split(' ')[0];
  return (
    <Page
      title="Home"
      heading={firstName ? `Welcome, ${firstName}` : 'Welcome'}
      actions={
        <ButtonLink to="/$environment/chat" params={{ environment }} variant="primary" icon={MessageSquare}>
          Ask a question
        </ButtonLink>
      }
    >
      <div className="stack loose">
        {isAdmin && <FirstSteps />}
        {isAdmin && <Numbers />}
        {isAdmin && <UsageChart />}
        <Recent />
      </div>
    </Page>
  );
}

function Numbers() {
  const environment = useEnvironment();
  const balance = useQuery(creditSettingsQuery(environment));
  const summary = useQuery(summaryQuery(environment));
  const failed = [balance, summary].find(({ error, data }) => error && !data);
  if (failed) return <Failure cause={failed.error} onRetry={() => void failed.refetch()} />;
  return (
    <div className="figures">
      <Figure label="Balance" value={balance.data?.balance} note="Credits that remain" />
      <Figure label="Used" value={summary.data?.total_credits_used} note="Credits this month" />
      <Figure label="Answers" value={summary.data?.total_queries} note="This month" />
      <Figure label="Active users" value={summary.data?.active_users} note="This month" />
    </div>
  );
}

const chartDays = 30;

function UsageChart() {
  const environment = useEnvironment();
  const range = useLastDays(chartDays);
  const { data, error, refetch } = useQuery(dayUsageQuery(environment, range));
  const bars = useMemo(
    () =>
      data &&
      data.meta.total_queries > 0 &&
      fillDays(data, chartDays).map(({ date = '', total_credits: value }) => ({ label: dayLabel(date), value })),
    [data],
  );
  return (
    <Section
      title="Usage"
      description="Credits a day, in the last 30 days"
      actions={
        <Link to="/$environment/credits" params={{ environment }} className="link small">
          All usage
        </Link>
      }
    >
      <div className="card padded">
        {error && !data && <Failure cause={error} onRetry={() => void refetch()} />}
        {!data && !error && <div className="chart chart-pending" aria-hidden="true" />}
        {bars && <Bars bars={bars} label="Credits a day" unit="credits" />}
        {data && !bars && (
          <div className="chart chart-pending">
            <p>No credits were used yet. Ask an agent something, and its cost appears here.</p>
          </div>
        )}
      </div>
    </Section>
  );
}

const maxConversations = 6;

function Recent() {
  const environment = useEnvironment();
  const agents = useQuery(newestAgentsQuery(environment));
  const { data, error, refetch } = useQuery(recentConversationsQuery(environment, agents.data?.rows, maxConversations));
  const failure = agents.error ?? error;
  const { rows, total } = agents.data ?? { rows: [], total: 0 };
  const hasOthers = total > rows.length;
  return (
    <Section title="Your recent conversations" description={hasOthers && `With the ${rows.length} newest active agents`}>
      <div className="table-frame">
        {failure && !data && <Failure cause={failure} onRetry={() => void (agents.error ? agents.refetch() : refetch())} />}
        {!data && !failure && (
          <ul>
            {[1, 2, 3].map((index) => (
              <li key={index} className="recent">
                <Skeleton width="40%" />
              </li>
            ))}
          </ul>
        )}
        {data?.length === 0 && (
          <Empty icon={MessageSquare} title={hasOthers ? 'No conversations with these agents yet' : 'No conversations yet'}>
            {hasOthers
              ? 'Your conversations with the others are in the chat, where you choose an agent.'
              : 'Ask an agent a question in your own words. It answers from your data and shows the queries behind the answer.'}
          </Empty>
        )}
        <ul>
          {data
            ?.slice(0, maxConversations)
            .map(({ id, agent_id: agentId, title, agentName, last_message_at: iso, message_count: count }) => (
              <li key={id}>
                <Link
                  to="/$environment/chat/$agentId/{-$conversationId}"
                  params={{ environment, agentId, conversationId: id }}
                  className="recent"
                  preload={false}
                >
                  <span className="cell-title truncate" dir="auto">
                    {title || 'Untitled'}
                  </span>
                  <span className="muted small truncate">
                    {agentName} · {plural(count, 'message')} · <Time iso={iso} />
                  </span>
                </Link>
              </li>
            ))}
        </ul>
      </div>
    </Section>
  );
}

/** The first tasks of a new organization; nothing once all of them are done. */
function FirstSteps() {
  const environment = useEnvironment();
  const source = useQuery(dataSourceStatusQuery(environment));
  const agents = useQuery(newestAgentsQuery(environment));
  const summary = useQuery(summaryQuery(environment));
  const usedNow = summary.data && summary.data.total_queries > 0;
  // The summary has the current month only.
  const usedBefore = useQuery({ ...hasUsageQuery(environment), enabled: usedNow === false });
  const hasAsked = usedNow || usedBefore.data;
  if (!source.data || !agents.data || hasAsked === undefined) return null;
  const hasAgent = agents.data.rows.length > 0;
  const steps = [
    { isDone: source.data !== 'none', text: 'Connect your database', to: '/$environment/data-source' as const },
    { isDone: hasAgent, text: 'Activate a template, or create an agent', to: '/$environment/templates' as const },
    { isDone: hasAsked, text: 'Ask the first question', to: '/$environment/chat' as const },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <Section title="First steps">
      <ol className="first-steps">
        {steps.map(({ isDone, text, to }, index) => (
          <li key={to} className={isDone ? 'first-step done' : 'first-step'}>
            <span className="first-step-mark" aria-hidden="true">
              {isDone ? <Check size={14} /> : index + 1}
            </span>
            {isDone ? (
              <span>
                {text} <span className="visually-hidden">(done)</span>
              </span>
            ) : (
              <Link to={to} params={{ environment }} className="link">
                {text}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}
