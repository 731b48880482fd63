import { columnConditions, comparisonsOf, numberConditions } from '../conditions/comparisons.ts';
import * as conditions from '../conditions/conditions.ts';
import { withoutDeleted } from '../conditions/deleted.ts';
import { lateConditions } from '../conditions/late.ts';
import { keyConditions, relatedOf } from '../conditions/related.ts';
import type { Candidate } from '../meaning/candidates.ts';
import type { Dimension, Intent } from '../meaning/intent.ts';
import { Pass } from '../meaning/pass.ts';
import type { Tile, Vocabulary } from '../meaning/tiles.ts';
import { mainNumber, paidPart } from '../schema/roles.ts';
import { inWhole } from '../words/periods.ts';
import { criteriaOf } from './criteria.ts';
import { figureOf, isCountedNoun } from './figure.ts';
import { groupsOf } from './groups.ts';
import { isSound, orderedBy, orderOf, pastConditions } from './order.ts';
import { useRest } from './rest.ts';
import { dayOfRows, isEntry, spansOf } from './spans.ts';
import { subjectOf, trendOf } from './subject.ts';

export interface Attempt {
  readonly intent: Intent | undefined;
  readonly unused: readonly Tile[];
  readonly foretells: boolean;
  readonly why: boolean;
  /** A word names the table, or the figure is a term. */
  readonly isMentioned: boolean;
  /** The words may continue the question before in more than one way. */
  readonly isUnclear?: boolean;
}

const failedAttempt = (pass: Pass): Attempt => ({
  intent: undefined,
  unused: pass.unused(),
  foretells: false,
  why: false,
  isMentioned: false,
});

/** Accounts for the words of a question as one about the candidate. */
export function assemble(candidate: Candidate, tiles: readonly Tile[], { schema, index }: Vocabulary, hasContext: boolean): Attempt {
  const pass = new Pass(tiles, candidate.base, schema, index, hasContext);
  pass.use(...candidate.tiles);
  if (candidate.assumed) pass.assumed.push(candidate.assumed);
  if (isMisread(pass, candidate)) return failedAttempt(pass);
  const why = explains(pass);
  const order = orderOf(pass);
  const subject = subjectOf(pass, candidate, order);
  const dimensions = dimensionsOf(pass, subject?.dimensions ?? []);
  const placed = conditionsOf(pass, candidate, dimensions);
  const figure = figureOf(pass, candidate, dimensions, order);
  if (!figure || isOtherFigure(pass, candidate, figure, placed) || (subject && !order && negatesRows(pass, candidate)))
    return failedAttempt(pass);
  const related = candidate.quantity || candidate.subject ? [] : relatedOf(pass);
  const hasTime = grainOf(dimensions) !== undefined;
  const spans = spansOf(pass, hasTime, undefined);
  if (!spans || countsOthers(candidate, figure, { spans, hasTime, related, order })) return failedAttempt(pass);
  const criteria = criteriaOf(pass, candidate, { placed, related }, dimensions);
  useRest(pass, candidate, order, dimensions, placed);
  const past = pastConditions(candidate, order, spans.span?.period.ahead === true);
  const rows = [...placed, ...related].filter((one) => !criteria.rate?.includes(one));
  const intent: Intent = {
    ...figure,
    shape: shapeOf(figure, spans),
    base: candidate.base,
    dimensions: [...dimensions, ...criteria.compared],
    conditions: [...candidate.conditions, ...rows.map(({ condition }) => condition), ...past],
    span: spans.span && { ...spans.span, period: inWhole(spans.span.period, grainOf(dimensions)) },
    day: spans.day,
    versus: spans.versus,
    share: criteria.share,
    rate: criteria.rate?.map(({ condition }) => condition),
    having: criteria.having,
    ...orderedBy(pass, candidate, figure.shape, { order, hasTime, isSingle: subject?.isSingle }),
    assumed: pass.assumed,
  };
  return {
    intent: isSound(pass, candidate, intent, order) && isConsistent(intent) ? withoutDeleted(intent, candidate, schema) : undefined,
    unused: pass.unused(),
    foretells: spans.foretells,
    why,
    isMentioned: isMentioned(candidate, tiles),
  };
}

const isMentioned = ({ isTerm, quantity, base }: Candidate, tiles: readonly Tile[]): boolean =>
  isTerm === true || quantity?.isTerm === true || tiles.some(({ tables }) => tables.includes(base));

/**
 * `by customer` makes groups of another figure, `paid all invoices` is more than one, `no overdue invoices` are not the overdue ones, and
 * `employee turnover` is how many leave, and goods on order have not come.
 */
const isMisread = (pass: Pass, { subject, isTerm, tiles }: Candidate): boolean =>
  (isTerm === true && tiles.some((at) => pass.tiles[at]?.words[0]?.stem === 'turnover' && isOfPeople(pass, at))) ||
  (isTerm === true && tiles.some((at) => namesValue(pass, at))) ||
  pass.tiles.some(({ words }, at) => words[0]?.lower === 'order' && pass.tiles[at - 1]?.words[0]?.lower === 'on') ||
  (subject !== undefined &&
    pass.tiles.some(({ words }, at) => at > 0 && words[0]?.lower === 'all' && !pass.tiles[at + 1]?.tables.includes(subject))) ||
  (subject !== undefined && pass.has(pass.beside(tiles[0] as number, -1), 'by')) ||
  (isTerm === true && tiles.some((at) => conditions.negationOf(pass, at) !== undefined));

/** `hired in Sales` names the department, as it is written there, and no revenue. */
const namesValue = (pass: Pass, at: number): boolean => {
  const [word, ...more] = pass.tiles[at]?.words ?? [];
  const isWritten = pass.tiles[at]?.values.some(({ value }) => value === word?.text && value !== word.lower);
  return more.length === 0 && isWritten === true && pass.tiles[at - 1]?.words[0]?.lower === 'in';
};

const isOfPeople = (pass: Pass, at: number): boolean =>
  (pass.tiles[at - 1]?.tables.length ?? 0) > 0 || pass.tiles[pass.beside(at, 1)]?.tables.some(({ name }) => name === 'employees') === true;

/** `which patients never paid a bill` are not found among the unpaid bills. */
const negatesRows = (pass: Pass, { quantity }: Candidate): boolean =>
  quantity === undefined &&
  pass.tiles.some(({ words }, at) => pass.isUsed(at) && /^(no|never|without|with no|without any)$/.test(textOf(words)));

const textOf = (words: Tile['words']): string => words.map(({ lower }) => lower).join(' ');

const grainOf = (dimensions: readonly Dimension[]) => dimensions.flatMap((one) => (one.kind === 'time' ? [one.grain] : []))[0];

interface Surroundings {
  readonly spans: Pick<Intent, 'day'>;
  readonly hasTime: boolean;
  readonly related: readonly conditions.Placed[];
  readonly order: ReturnType<typeof orderOf>;
}

/**
 * `which genre is reserved the most` is about the reservations and not about the books that have some, and salaries by month are not
 * those of the people who were hired in it.
 */
function countsOthers(
  { operation }: Candidate,
  { shape, quantity }: Pick<Intent, 'shape' | 'quantity'>,
  surroundings: Surroundings,
): boolean {
  const { spans, hasTime, related, order } = surroundings;
  const isRelated = related.length > 0;
  if (isRelated && order?.byDay === false && shape === 'figure') return true;
  const isOfEntries = spans.day !== undefined && isEntry(spans.day.column) && (quantity !== undefined || operation === 'count');
  return hasTime && (isRelated || isOfEntries);
}

const isOtherFigure = (
  pass: Pass,
  candidate: Candidate,
  figure: Parameters<typeof isCountedNoun>[2],
  placed: readonly conditions.Placed[],
) => !isCountedNoun(pass, candidate, figure) || isPartPaid(pass, candidate, placed) || isLimitedSum(pass, candidate, figure, placed);

/** `how much of the invoices has been paid` is the part that was paid of each of them. */
const isPartPaid = (pass: Pass, { base, quantity }: Candidate, placed: readonly conditions.Placed[]) =>
  paidPart(base) !== undefined &&
  quantity?.column === mainNumber(base)?.name &&
  pass.mentions('howMuch') &&
  placed.some(({ at, condition }) => / paid( \(|$)/i.test(condition.label) && !pass.tiles[pass.beside(at, 1)]?.tables.includes(base));

/** `salaries above 60000` are rows; nothing says that they are added up. */
const isLimitedSum = (
  pass: Pass,
  { base, quantity }: Candidate,
  { shape, operation }: Pick<Intent, 'shape' | 'operation'>,
  placed: readonly conditions.Placed[],
) =>
  shape === 'figure' &&
  operation === 'sum' &&
  !pass.mentions('sum', 'howMuch', 'worth', 'percent', 'growth', 'compare') &&
  placed.some(({ condition }) => condition.key === `${base.name}.${quantity?.column}`);

/** A list shows no groups, no month is in two years that are compared, the number of groups is one of a single criterion, and rows cannot be both active, as a term of business says, and left. */
export const isConsistent = ({ shape, dimensions, conditions, ofGroups, share, having, operation, quantity, versus }: Intent): boolean =>
  // Groups that a limit leaves out are a part of all, and averages of groups add up to nothing.
  !(share && (having || ofGroups || quantity?.per || !/^(sum|count)$/.test(operation))) &&
  !(versus && grainOf(dimensions) !== undefined) &&
  // There is no average of seven weekdays.
  !(ofGroups === 'avg' && grainOf(dimensions) === 'weekday') &&
  dimensions.length <= (shape === 'list' ? 0 : ofGroups ? 1 : dimensions.length) &&
  !conditions.some(({ key, label }) => {
    const [, column, operator, words = ''] = /^term (\w+\.\w+) (=|<>) '(.*)'$/.exec(key) ?? [];
    const isNamed = (text: string) => new RegExp(`\\b(${words})\\b`, 'i').test(text) && !/ not /.test(text);
    return conditions.some((one) => one.key === column && (operator === '=') !== isNamed(one.label) && one.label !== label);
  });

/** Rows of two spans are compared by their number. */
const shapeOf = ({ shape }: Pick<Intent, 'shape'>, { versus }: Pick<Intent, 'versus'>): Intent['shape'] => (versus ? 'figure' : shape);

/** The groups: those of the subject, those after `by`, and months where a trend is asked for. */
function dimensionsOf(pass: Pass, own: readonly Dimension[]): Dimension[] {
  const grouped = [...own, ...groupsOf(pass)];
  if (grainOf(grouped) === undefined) return [...grouped, ...(trendOf(pass) ?? [])];
  pass.use(...pass.find('trend'));
  return grouped;
}

/** `why did revenue change last month` */
function explains(pass: Pass): boolean {
  const why = pass.find('why');
  const change = pass.find('change', 'growth');
  const explained = pass.tiles.flatMap(({ words }, at) => (/^explain/.test(words[0]?.lower ?? '') ? [at] : []));
  if ((why.length === 0 && explained.length === 0) || change.length === 0) return false;
  pass.use(...why, ...change, ...explained, ...pass.find('which'));
  return true;
}

function conditionsOf(pass: Pass, candidate: Candidate, dimensions: readonly Dimension[]): conditions.Placed[] {
  const hasGroups = dimensions.length > 0;
  const isSpanned = pass.tiles.some(({ period }) => period !== undefined);
  const day = isSpanned ? dayOfRows(pass, true)?.at : undefined;
  const late = [
    ...columnConditions(pass),
    ...(candidate.quantity?.unit === 'days' && pass.mentions('days', 'howLong') ? [] : [...lateDaysFirst(pass), ...lateConditions(pass)]),
  ];
  const placed = [
    ...late,
    ...conditions.partConditions(pass),
    ...conditions.rateConditions(pass),
    ...conditions.termConditions(pass),
    ...keyConditions(pass),
    ...conditions.flagConditions(pass),
    ...conditions.doneConditions(pass, (at) => at === day),
    ...conditions.valueConditions(pass, {
      isDay: (at) => at === day,
      ofSubject: candidate.subject !== undefined,
      preferred: columnsOf(dimensions),
    }),
    ...((hasGroups && candidate.quantity) || candidate.subject ? [] : numberConditions(pass, hasGroups && !pass.mentions('count'))),
  ];
  return [...placed, ...conditions.nowConditions(pass, placed)];
}

/** The columns of groups, as conditions name them. */
export const columnsOf = (dimensions: readonly Dimension[]): string[] =>
  dimensions.flatMap((one) => (one.kind === 'column' ? [`${one.table}.${one.column}`] : []));

/** The conditions that words ask for, which hold for every figure. */
export function rowConditions(pass: Pass, preferred: readonly string[]): conditions.Placed[] {
  return [
    ...columnConditions(pass),
    ...lateDaysFirst(pass),
    ...lateConditions(pass),
    ...conditions.termConditions(pass),
    ...conditions.flagConditions(pass),
    ...conditions.valueConditions(pass, { preferred }),
    ...numberConditions(pass),
  ];
}

/** More than 30 days overdue is also overdue. */
function lateDaysFirst(pass: Pass): conditions.Placed[] {
  return comparisonsOf(pass).length > 0 && pass.mentions('late') ? numberConditions(pass) : [];
}
