import type { Intent } from '../meaning/intent.ts';
import type { Vocabulary } from '../meaning/tiles.ts';
import { currenciesBeside, mixedCurrencies } from '../question/currencies.ts';
import type { Data, Unreadable } from '../tools.ts';
import { groupedBy, statementOf } from './statement.ts';

/** As `mixedCurrencies`; where the index has only a sample of the currencies, those of the rows that count are read. */
export async function checkCurrencies(intent: Intent, vocabulary: Vocabulary, data: Data): Promise<Unreadable | string | undefined> {
  const beside = currenciesBeside(intent, vocabulary);
  if (!beside || beside.isSeparate || beside.isWhole || beside.listed.length > 1) return mixedCurrencies(beside);
  const { table, column } = beside;
  const rows: Intent = {
    ...groupedBy(intent, table, column.name, undefined),
    shape: 'figure',
    operation: 'count',
    quantity: undefined,
    distinct: undefined,
    share: false,
    rate: undefined,
    having: undefined,
    ofGroups: undefined,
  };
  const result = await data.prepare(statementOf(rows, vocabulary.schema).sql);
  if ('error' in result) return result;
  return mixedCurrencies({ ...beside, listed: result.rows.flatMap(([currency]) => currency ?? []) });
}
