import type { ListedMessage } from '@agent-service/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ThumbsDown, ThumbsUp } from 'lucide-react';
import { lazy, Suspense, useDeferredValue } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CopyButton } from '../../ui/copy.tsx';
import { notifyFailure } from '../../ui/feedback.tsx';
import { plural } from '../../ui/format.tsx';
import type { PendingAnswer } from './pending-answers.ts';
import { isUnderWay } from './queries.ts';

const Markdown = lazy(() => import('../../ui/rich/markdown.tsx'));

/** The user's message: text, never markup. */
export function UserMessage({ text }: { text: string }) {
  return (
    <div className="prompt" dir="auto">
      {text}
    </div>
  );
}

/** The text itself stands there until the renderer has been loaded. */
function AnswerText({ text, isMarkdown = true }: { text: string; isMarkdown?: boolean }) {
  const plain = (
    <div className="prose plain" dir="auto">
      {text}
    </div>
  );
  return isMarkdown ? (
    <Suspense fallback={plain}>
      <Markdown text={text} />
    </Suspense>
  ) : (
    plain
  );
}

/** For answers without a text of their own about their end. */
const ends: Partial<Record<ListedMessage['status'], string>> = {
  failed: 'This answer failed. It cost nothing.',
  cancelled: 'This answer was cancelled. It cost nothing.',
};

export function Answer({ agentId, message }: { agentId: string; message: ListedMessage }) {
  if (isUnderWay(message)) return <Working label="The answer is being written, and appears here when it is complete" />;
  const end = ends[message.status];
  if (end)
    return (
      <p className="answer muted wrap" dir="auto">
        {message.content || end}
      </p>
    );
  return (
    <article className="answer" aria-label="Answer">
      <AnswerText text={message.content} isMarkdown={message.content_type === 'markdown'} />
      <Queries queries={message.queries ?? []} />
      <footer className="answer-foot">
        <CopyButton text={message.content} label="Copy the answer" iconOnly variant="ghost" />
        <Opinion agentId={agentId} message={message} />
        <span className="muted small number">
          {plural(message.credits_consumed, 'credit')}
          {message.model_used && ` · ${message.model_used}`}
        </span>
      </footer>
    </article>
  );
}

type Query = NonNullable<ListedMessage['queries']>[number];

/** The queries that the answer was computed from. */
function Queries({ queries }: { queries: readonly Query[] }) {
  if (queries.length === 0) return null;
  return (
    <details className="queries">
      <summary>{queries.length === 1 ? 'The query' : `The ${queries.length} queries`} behind this answer</summary>
      <ul className="stack">
        {queries.map(({ statement, tables, rows, duration_ms: ms }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: queries have no identity, and their order never changes.
          <li key={index} className="stack tight">
            <CodeBlock code={statement} label={`Query ${index + 1}`} />
            <p className="muted small">
              {plural(rows, 'row')} in {ms} ms from {tables.join(', ') || 'no table'}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}

const good = 5;
const bad = 1;

function Opinion({ agentId, message: { id, feedback } }: { agentId: string; message: ListedMessage }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const { mutate: rate } = useMutation({
    // One after the other, so that the last opinion is the one that is stored.
    scope: { id: `feedback-${id}` },
    mutationFn: (score: number) => {
      const path = { agent_id: agentId, message_id: id };
      const body = { score, comment: '' };
      return bodyOf(api(environment).POST('/v1/agents/{agent_id}/messages/{message_id}/feedback', { params: { path }, body }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: [environment, 'conversations', agentId, 'messages'] }),
    onError: notifyFailure,
  });
  const score = feedback?.score;
  return (
    <>
      <Button variant="ghost" icon={ThumbsUp} aria-label="Good answer" aria-pressed={score === good} onClick={() => rate(good)} />
      <Button variant="ghost" icon={ThumbsDown} aria-label="Bad answer" aria-pressed={score === bad} onClick={() => rate(bad)} />
    </>
  );
}

function Working({ label }: { label: string }) {
  return (
    <p className="working muted" role="status">
      <span className="spinner" aria-hidden="true" /> {label}
    </p>
  );
}

/** An answer as it arrives. */
export function PendingBubble({ pending, withMessage }: { pending: PendingAnswer; withMessage: boolean }) {
  const text = useDeferredValue(pending.text);
  const step = pending.steps.at(-1);
  return (
    <>
      {withMessage && <UserMessage text={pending.sent.message} />}
      {!pending.failure && (
        <div className="answer" aria-busy="true">
          {pending.steps.length > 0 && (
            <ul className="steps muted small">
              {pending.steps.map(({ name, rows, error }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: steps are only added at the end.
                <li key={index}>{error ? `${name} failed` : `${stepNames[name] ?? name}${rows > 0 ? `: ${plural(rows, 'row')}` : ''}`}</li>
              ))}
            </ul>
          )}
          {text ? <AnswerText text={text} /> : <Working label={step ? 'Reading the results' : 'Thinking'} />}
        </div>
      )}
    </>
  );
}

const stepNames: Record<string, string> = {
  query: 'Ran a query',
  list_tables: 'Listed the tables',
  describe_table: 'Looked at a table',
  change: 'Changed a row',
};
