import { checkItems, type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { checkAttempt } from '../keys.ts';
import type { Result } from '../store/complete.ts';
import { refusalMessage, runEach } from './items.ts';

export const completeAnswer = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'completeAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items }) {
    checkItems(items);
    const outcomes = await runEach(items, async (item) => answers.complete(toResult(item)));
    return { results: outcomes.map((refusal) => (refusal ? { refusal: refusalMessage(refusal) } : {})) };
  },
});

type Item = Parameters<RpcOf<'agents', 'completeAnswer'>['handle']>[0]['items'][number];

function toResult({ answer, content, contentType, inputTokens, outputTokens, queries }: Item): Result {
  return {
    ...checkAttempt(answer),
    content: toStorable(content),
    contentType: contentType === 'text' ? 'text' : 'markdown',
    inputTokens: Math.max(0, inputTokens),
    outputTokens: Math.max(0, outputTokens),
    queries: queries.map(({ statement, tables, rows, durationMs }) => ({
      statement: toStorable(statement),
      tables: tables.map(toStorable),
      rows,
      durationMs,
    })),
  };
}

/** Replaces what PostgreSQL cannot store. */
const toStorable = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');
