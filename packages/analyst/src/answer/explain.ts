import type { Intent } from '../meaning/intent.ts';
import type { Vocabulary } from '../meaning/tiles.ts';
import { spanOfChange } from '../question/spans.ts';
import { isLabel } from '../schema/roles.ts';
import { reachable } from '../schema/schema.ts';
import type { Data, Unreadable } from '../tools.ts';
import { groupedBy, statementOf } from './statement.ts';

const maxCriteria = 4;

/** The change against the span before, by the criterion whose groups account for it most unevenly: there the change has a place. */
export async function explainChange(intent: Intent, { schema, index }: Vocabulary, data: Data): Promise<Intent | Unreadable | undefined> {
  const versus = intent.versus ?? (intent.span && spanOfChange(intent.span));
  if (!versus || intent.shape === 'list') return undefined;
  const used = new Set(intent.conditions.map(({ key }) => key));
  const criteria = reachable(intent.base, schema).flatMap((table) =>
    table.columns.flatMap(({ name }) => {
      const values = index.fewOf(table.name, name);
      const isCriterion = values.length > 1 && !used.has(`${table.name}.${name}`) && !isLabel(table, name) && !/status|state/.test(name);
      return isCriterion ? [groupedBy(intent, table, name, versus)] : [];
    }),
  );
  let best: { intent: Intent; uneven: number } | undefined;
  for (const candidate of criteria.slice(0, maxCriteria)) {
    const result = await data.query(statementOf(candidate, schema).sql);
    if ('error' in result) return result;
    const changes = result.rows.map((row) => Math.abs(Number(row[3] ?? 0)));
    const uneven = Math.max(...changes, 0) / (changes.reduce((sum, change) => sum + change, 0) || 1);
    if (!best || uneven > best.uneven) best = { intent: candidate, uneven };
  }
  return best && { ...best.intent, assumed: [...intent.assumed, 'this shows where the change is, not its cause'] };
}
