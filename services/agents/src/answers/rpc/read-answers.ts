import { type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { timeOf } from '../domain/ids.ts';
import { checkKey } from '../key.ts';
import { toMessage } from '../message.ts';
import type { ReadRow } from '../store/read.ts';
import { checkItems } from './items.ts';

export const readAnswers = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'readAnswers'> => ({
  allow: services('gateway'),
  async handle({ items }) {
    checkItems(items);
    const rows = await answers.read(items.map(checkKey).map((key) => ({ ...key, createdAt: timeOf(key.id) ?? 0 })));
    const found = new Map(rows.map((row) => [row.n, row]));
    return {
      results: items.map((_, n) => {
        const row = found.get(n);
        return row ? { message: rowMessage(row), attempt: row.attempt } : {};
      }),
    };
  },
});

export const rowMessage = ({ failureCode, failureMessage, queries, ...row }: ReadRow) =>
  toMessage({
    id: row.id,
    conversationId: row.conversationId,
    agentId: row.agentId,
    content: row.content,
    contentType: row.contentType,
    credits: row.credits,
    tier: row.tier,
    createdAt: row.createdAt,
    status: row.status,
    failure: failureCode === '' ? null : { code: failureCode, message: failureMessage },
    queries: queries ?? [],
  });
