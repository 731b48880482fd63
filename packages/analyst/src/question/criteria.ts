import { comparisonsOf, nounAfter, useComparison } from '../conditions/comparisons.ts';
import type { Placed } from '../conditions/conditions.ts';
import type { Candidate } from '../meaning/candidates.ts';
import type { Comparison, Dimension, Intent } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import { isMoney } from '../schema/roles.ts';
import { tableOf } from '../schema/schema.ts';
import { columnDimension } from './groups.ts';

interface Criteria {
  readonly having: Intent['having'];
  /** The conditions whose share is asked for. */
  readonly rate: readonly Placed[] | undefined;
  readonly share: boolean;
  readonly compared: readonly Dimension[];
}

interface Conditions {
  readonly placed: readonly Placed[];
  /** Those about the rows of other tables. */
  readonly related: readonly Placed[];
}

/** The limits that the figures of the groups must fit, and the figures beside them. */
export function criteriaOf(pass: Pass, candidate: Candidate, conditions: Conditions, dimensions: readonly Dimension[]): Criteria {
  const { placed } = conditions;
  const having =
    dimensions.length === 0 ? undefined : (numberOfGroups(pass, candidate, dimensions) ?? limitOfGroups(pass, candidate, dimensions));
  const rate = rateOf(pass, conditions, candidate, dimensions);
  const share = rate === undefined && dimensions.length > 0 && shareOf(pass, placed);
  return { having, rate, share, compared: comparedValues(pass, placed) };
}

/** `customers with more than 10 orders`, `who ordered more than 5 times`, `countries with revenue over 80000` */
function numberOfGroups(pass: Pass, { base, quantity }: Candidate, [dimension]: readonly Dimension[]): Intent['having'] {
  const [stated] = comparisonsOf(pass);
  if (!stated) return undefined;
  // Products that sell for less than 50 have a price.
  if (quantity && pass.tiles[stated.at - 1]?.words[0]?.lower === 'for') return undefined;
  const after = nounAfter(pass, stated);
  const isOfRows = pass.tiles[after]?.tables.includes(base) || pass.has(after, 'times');
  // Groups without any row would have fewer as well, and are not there.
  // Members with `unpaid fines over 30` have such a fine, unless the fines are added up.
  const isOfEach = quantity !== undefined && dimension?.kind === 'column' && !pass.mentions('sum');
  if (isOfEach && pass.tiles[pass.beside(stated.at, -1)]?.tables.includes(base)) return undefined;
  const countsOthers = quantity !== undefined && (pass.tiles[after]?.tables.length ?? 0) > 0;
  if (countsOthers || isOfRows === (quantity !== undefined) || (!quantity && includesNone(stated.comparison))) return undefined;
  useComparison(pass, stated);
  if (isOfRows) pass.use(after);
  return stated.comparison;
}

/** `customers who owe more than their credit limit` */
function limitOfGroups(pass: Pass, { quantity }: Candidate, [dimension]: readonly Dimension[]): Intent['having'] {
  const [at] = pass.find('over', 'under');
  if (at === undefined || !quantity || dimension?.kind !== 'column') return undefined;
  const numberAt = (index: number) =>
    pass.columnAt(index, ({ table, column }) => table.name === dimension.table && column.kind === 'number');
  const right = [...pass.tiles.keys()].find((index) => index > at && numberAt(index) !== undefined);
  const limit = right === undefined ? undefined : numberAt(right);
  // Units are not compared with a price.
  if (right === undefined || !limit || isMoney(limit.column) !== (quantity.unit === 'money')) return undefined;
  pass.use(at, right);
  const operator = pass.has(at, 'over') ? '>' : '<';
  return { tables: [limit.table.name], sql: (of) => `${operator} max(${of(limit.table.name, limit.column.name)})` };
}

/** True where a group without any row would fit: under 5, exactly 0, between 0 and 2. */
const includesNone = ({ operator, number, to }: Comparison) =>
  (to === undefined && operator.startsWith('<')) || (operator === '>' ? number < 0 : number <= 0);

/** `what percentage of orders is cancelled`, `of customers in Germany have orders`: the condition that comes last. */
function rateOf(pass: Pass, { placed, related }: Conditions, candidate: Candidate, dimensions: readonly Dimension[]): Placed[] | undefined {
  const stated = pass.find('percent', 'rate');
  if (stated.length === 0) return undefined;
  if (candidate.quantity?.per) {
    // A margin in percent, and not the share of one.
    pass.use(...stated.filter((at) => !/^(share|proportion|fraction)$/.test(pass.tiles[at]?.words[0]?.stem ?? '')));
    return undefined;
  }
  const isOneGroup = new Set(placed.map(({ at }) => at)).size === 1;
  // All of what is overdue is unpaid.
  const repeatsTerm = placed.every(({ condition }) => candidate.conditions.some(({ key }) => key === condition.key));
  if (dimensions.length > 0 || !isOneGroup || repeatsTerm || !countsBase(pass, candidate)) return undefined;
  const last = related.length === 0 ? placed : lastOf(pass, placed, related);
  if (last) pass.use(...stated);
  return last && [...last];
}

/** `what percentage of customers have overdue invoices` is not one of invoices. */
function countsBase(pass: Pass, { base, tiles, subject }: Candidate): boolean {
  const isNoun = (at: number) => (pass.tiles[at]?.tables.length ?? 0) > 0 || tiles.includes(at);
  const of = pass.tiles.findIndex(({ tags }) => tags.includes('percent'));
  const first = [...pass.tiles.keys()].find((at) => of >= 0 && at > of && isNoun(at));
  for (let at = first ?? -1; isNoun(at); at += 1)
    if (pass.tiles[at]?.tables.includes(base) || (tiles.includes(at) && subject === undefined)) return true;
  return first === undefined;
}

const verb = /^(is|are|was|were|has|have|had|come|comes|came|do|does|did)$|ed$/;

/** The conditions behind the verb; `customers with orders from Spain` are some of two wholes. */
function lastOf(pass: Pass, placed: readonly Placed[], related: readonly Placed[]): readonly Placed[] | undefined {
  const [one, other] = [placed, related].map(([first]) => first?.at ?? 0) as [number, number];
  const between = pass.tiles.slice(Math.min(one, other) + 1, Math.max(one, other) + 1);
  const hasVerb = between.some(({ words }) => verb.test(words[0]?.lower ?? '')) && between.every(({ tags }) => !tags.includes('who'));
  return hasVerb ? (one > other ? placed : related) : undefined;
}

/** `share of cancelled orders by channel` has two meanings: of all cancelled ones, or of those of the channel. */
function shareOf(pass: Pass, placed: readonly Placed[]): boolean {
  const stated = pass.find('percent');
  const by = pass.tiles.findIndex(({ tags }) => tags.includes('by'));
  if (placed.some(({ at }) => at > (stated[0] ?? at) && at < by)) return false;
  pass.use(...stated);
  return stated.length > 0;
}

/** `compare web and phone`: a group for each of the values. */
function comparedValues(pass: Pass, placed: readonly Placed[]): Dimension[] {
  const compares = pass.find('compare');
  const of = placed.filter(({ condition }) => / or /.test(condition.label));
  const [one] = of;
  const isDifference = compares.some((at) => pass.tiles[at]?.words[0]?.lower === 'difference');
  if (compares.length === 0 || !one || of.length > 1 || isDifference) return [];
  const [table, column] = one.condition.key.split('.') as [string, string];
  const owner = tableOf(pass.schema, table);
  const meaning = owner?.columns.find(({ name }) => name === column);
  if (!owner || !meaning) return [];
  pass.use(...compares);
  return [columnDimension(owner, meaning)];
}
