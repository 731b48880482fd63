import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { checkAttempt } from '../key.ts';
import type { Result } from '../store/complete.ts';
import { checkItems, decideEach, refusalMessage } from './items.ts';

export const completeAnswer = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'completeAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items }) {
    checkItems(items);
    const outcomes = await decideEach(items, async (item) => answers.complete(toResult(item)));
    return { results: outcomes.map((refusal) => (refusal ? { refusal: refusalMessage(refusal) } : {})) };
  },
});

type Item = Parameters<RpcOf<'agents', 'completeAnswer'>['handle']>[0]['items'][number];

function toResult({ answer, content, contentType, inputTokens, outputTokens, queries }: Item): Result {
  if (!answer) throw new ServiceError('invalid_request', { message: 'answer is missing.', param: 'answer' });
  return {
    ...checkAttempt(answer),
    content: storable(content),
    contentType: contentType === 'text' ? 'text' : 'markdown',
    inputTokens: Math.max(0, inputTokens),
    outputTokens: Math.max(0, outputTokens),
    queries: queries.map(({ statement, tables, rows, durationMs }) => ({
      statement: storable(statement),
      tables: tables.map(storable),
      rows,
      durationMs,
    })),
  };
}

/** What a model writes is kept as far as PostgreSQL can keep it. */
const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');
