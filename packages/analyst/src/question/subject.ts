import { comparisonsOf, nounAfter } from '../conditions/comparisons.ts';
import type { Candidate } from '../meaning/candidates.ts';
import type { Dimension } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import { isPeople } from '../schema/roles.ts';
import type { Table } from '../schema/schema.ts';
import { toWords } from '../words/words.ts';
import { dimensionAt, labelDimension } from './groups.ts';
import type { Order } from './order.ts';

interface Subject {
  readonly dimensions: readonly Dimension[];
  readonly isSingle: boolean;
}

/** Finds the subject of the figure: which country, top 5 customers, who. */
export function subjectOf(pass: Pass, candidate: Candidate, order: Order | undefined): Subject | undefined {
  if (candidate.subject) {
    const dimension = labelDimension(candidate.subject);
    return dimension && { dimensions: candidate.distinct && !wantsGroups(pass, order) ? [] : [dimension], isSingle: false };
  }
  const ranks = /^(most|least|fewest|top|most often)$/.test(order?.word ?? '');
  const isRows = pass.tiles.some(({ tables }, at) => candidate.tiles.includes(at) && tables.includes(candidate.base));
  if (!candidate.quantity && candidate.operation !== 'count' && !ranks && !isRows) return undefined;
  return namedSubject(pass, candidate, order) ?? people(pass, candidate, order);
}

function namedSubject(pass: Pass, { tiles, base, quantity }: Candidate, order: Order | undefined): Subject | undefined {
  const questionWords = pass.find('which');
  const begins = (before: number) =>
    before < 0 ||
    questionWords.includes(before) ||
    before === order?.at ||
    (order && pass.tiles[before]?.number !== undefined) ||
    (order && tiles.includes(before) && quantity?.unit === 'pieces');
  for (const at of pass.tiles.keys()) {
    const before = pass.beside(at, -1);
    const isRequested = order !== undefined || questionWords.includes(before) || quantity !== undefined;
    const phrase = begins(before) && isRequested && !pass.isUsed(at) ? dimensionAt(pass, at) : undefined;
    // A column of the same rows is shown with them.
    const isOwn = phrase?.dimension.kind === 'column' && phrase.dimension.table === base.name && quantity?.column !== undefined && !order;
    if (!phrase || isOwn) continue;
    pass.use(...Array.from({ length: phrase.end - at }, (_, offset) => at + offset), ...questionWords);
    const word = pass.tiles[phrase.end - 1]?.words.at(-1);
    return { dimensions: [phrase.dimension], isSingle: word !== undefined && word.lower === word.stem };
  }
  return undefined;
}

/** The people that `who` may ask for: customers do not sell, and suppliers do not buy. */
export function canBeWho(pass: Pass, table: Table): boolean {
  const says = (verb: RegExp) => pass.tiles.some(({ words }) => words.some(({ stem }) => verb.test(stem)));
  const other = { customers: /^(sell|sold)$/, suppliers: /^(buy|bought|order|ordered)$/ }[table.name];
  return isPeople(table) && (other === undefined || !says(other));
}

/** `who owes us the most` */
function people(pass: Pass, { base, quantity }: Candidate, order: Order | undefined): Subject | undefined {
  const [who] = pass.find('who');
  const table = pass.tables.find((one) => one !== base && canBeWho(pass, one));
  if (who === undefined || !table || (!order && quantity?.column !== undefined)) return undefined;
  pass.use(who);
  pass.assumed.push(`who: ${toWords(table.name)}`);
  const dimension = labelDimension(table);
  return dimension && { dimensions: [dimension], isSingle: false };
}

/** `customers with more than 10 orders`, `the doctor with the most appointments`, `patients discharged this month` */
const wantsGroups = (pass: Pass, order: Order | undefined) =>
  order !== undefined ||
  !pass.mentions('by', 'count', 'percent', 'rate', 'distinct', 'average', 'compare', 'growth', 'trend') ||
  comparisonsOf(pass).some((stated) => {
    const after = pass.tiles[nounAfter(pass, stated)];
    return after?.tags.includes('times') || after?.tables.includes(pass.base);
  });

/** `the trend of orders` is by month. */
export function trendOf(pass: Pass): Dimension[] | undefined {
  const trends = pass.find('trend');
  if (trends.length === 0) return undefined;
  const grains = pass.tiles.flatMap(({ grain }, at) => (grain && !pass.isUsed(at) ? [{ grain, at }] : []));
  pass.use(...trends, ...grains.map(({ at }) => at));
  const grain = grains[0]?.grain ?? 'month';
  if (grains.length === 0) pass.assumed.push('by month');
  return [{ kind: 'time', grain }];
}
