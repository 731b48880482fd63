import type { Figure, Intent } from './intent.ts';
import { periodsOf, spokenPeriods } from './periods.ts';
import { stemsOfName, type Word, wordsOf } from './words.ts';

const inOrder = {
  newest: /^(latest|newest|recent|recently)$/,
  oldest: /^(oldest|earliest)$/,
  most: /^(top|best|highest|largest|biggest|greatest|longest|strongest|most|maximum|max|priciest)$/,
  least: /^(bottom|worst|lowest|smallest|fewest|least|slowest|shortest|minimum|min|cheapest)$/,
  ascending: /^ascending$/,
} as const;
type Order = keyof typeof inOrder;
const orders = Object.keys(inOrder) as Order[];

/** Words that order, average or compare: whether the intent does what one says; undefined for other words. */
export function keepsWord(word: Word, at: number, intent: Intent, words: readonly Word[]): boolean | undefined {
  if (namesData(word, intent)) return undefined;
  const { lower } = word;
  const said = lower === 'most' && words[at + 1]?.lower === 'recent' ? 'newest' : orders.find((order) => inOrder[order].test(lower));
  if (said) return isInOrder(said, intent);
  if (/^(average|avg|mean|typical)$/.test(lower)) return intent.kind === 'figure' && intent.operation === 'avg';
  if (/^(more|less|fewer|greater|higher|lower|larger)$/.test(lower)) return intent.kind === 'figure' && intent.versus !== undefined;
  if (/^(per|each|every)$/.test(lower)) return intent.kind === 'list' || intent.dimensions.length > 0;
  return undefined;
}

function isInOrder(said: Order, intent: Intent): boolean {
  if (intent.kind === 'figure') return isRanked(said, intent);
  const { orderBy, base } = intent;
  if (!orderBy) return false;
  const byDay = base.columns.some(({ name, kind }) => name === orderBy.column && kind === 'date');
  if (said === 'ascending') return !orderBy.descending;
  if (said === 'newest' || said === 'oldest') return byDay && orderBy.descending === (said === 'newest');
  return !byDay && orderBy.descending === (said === 'most');
}

function isRanked(said: Order, { operation, dimensions, order, limited }: Figure): boolean {
  if (said === 'newest' || said === 'oldest') return false;
  if (said === 'ascending') return dimensions.length > 0 && order !== 'most';
  if (operation === (said === 'most' ? 'max' : 'min')) return true;
  return dimensions.length > 0 && limited && order === said;
}

/** `Best Western`, `maximum_stock` */
function namesData({ lower, stem }: Word, intent: Intent): boolean {
  const columns = [
    ...(intent.kind === 'figure' ? [intent.amount?.column, intent.compared?.name] : [intent.orderBy?.column, intent.compared?.name]),
    ...(intent.kind === 'figure' ? intent.dimensions.flatMap((one) => (one.kind === 'column' ? [one.column] : [])) : []),
  ].filter((column) => column !== undefined);
  const values = intent.hits.flatMap(({ value }) => wordsOf(value).map((one) => one.lower));
  return values.includes(lower) || columns.some((column) => stemsOfName(column).includes(stem));
}

const joins = /^(with|against|to|than|vs|versus)$/;
const between = /^(the|that|those|of|in|for|all)$/;

/** `by month compared with last year` asks for something beside what is shown, `compare revenue by channel` for that alone. */
export function namesOther(words: readonly Word[]): boolean {
  if (periodsOf(words).length === 0) return false;
  return spokenPeriods(words).some(({ places: [first = 0] }) => {
    let before = first - 1;
    while (between.test(words[before]?.lower ?? '')) before -= 1;
    return joins.test(words[before]?.lower ?? '');
  });
}
