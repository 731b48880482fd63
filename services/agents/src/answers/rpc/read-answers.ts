import { checkItems, type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { timeOf } from '../domain/message-id.ts';
import { checkKey } from '../keys.ts';
import { rowMessage } from '../read.ts';

export const readAnswers = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'readAnswers'> => ({
  allow: services('gateway'),
  async handle({ items }) {
    checkItems(items);
    const rows = await answers.read(items.map(checkKey).map((key) => ({ ...key, createdAt: timeOf(key.id) ?? 0 })));
    const rowOf = new Map(rows.map((row) => [row.n, row]));
    return {
      results: items.map((_, n) => {
        const row = rowOf.get(n);
        return row ? { message: rowMessage(row), attempt: row.attempt } : {};
      }),
    };
  },
});
