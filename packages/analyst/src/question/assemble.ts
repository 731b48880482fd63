import type { Candidate } from '../meaning/candidates.ts';
import type { Dimension, Intent } from '../meaning/intent.ts';
import { Pass } from '../meaning/pass.ts';
import type { Tile, Vocabulary } from '../meaning/tiles.ts';
import { inWhole } from '../words/periods.ts';
import { columnConditions, comparisonsOf, numberConditions } from './comparisons.ts';
import * as conditions from './conditions.ts';
import { criteriaOf } from './criteria.ts';
import { figureOf, isCountedNoun } from './figure.ts';
import { groupsOf } from './groups.ts';
import { lateConditions } from './late.ts';
import { isSound, orderedBy, orderOf } from './order.ts';
import { relatedOf } from './related.ts';
import { useRest } from './rest.ts';
import { dayOfRows, spansOf } from './spans.ts';
import { subjectOf, trendOf } from './subject.ts';

export interface Attempt {
  readonly intent: Intent | undefined;
  readonly unused: readonly Tile[];
  readonly foretells: boolean;
  readonly why: boolean;
  /** A word names the table, or the figure is a term. */
  readonly isMentioned: boolean;
}

const failed = (pass: Pass): Attempt => ({ intent: undefined, unused: pass.unused(), foretells: false, why: false, isMentioned: false });

/** Accounts for the words of a question as one about the candidate. */
export function assemble(candidate: Candidate, tiles: readonly Tile[], { schema, index }: Vocabulary, hasContext: boolean): Attempt {
  const pass = new Pass(tiles, candidate.base, schema, index, hasContext);
  pass.use(...candidate.tiles);
  if (candidate.assumed) pass.assumed.push(candidate.assumed);
  if (isMisread(pass, candidate)) return failed(pass);
  const why = explains(pass);
  const order = orderOf(pass);
  const subject = subjectOf(pass, candidate, order);
  const dimensions = dimensionsOf(pass, subject?.dimensions ?? []);
  const placed = conditionsOf(pass, candidate, dimensions.length > 0);
  const figure = figureOf(pass, candidate, dimensions, order);
  if (!figure || !isCountedNoun(pass, candidate, figure) || (subject && !order && negatesRows(pass, candidate))) return failed(pass);
  const related = candidate.quantity || candidate.subject ? [] : relatedOf(pass);
  const hasTime = grainOf(dimensions) !== undefined;
  const spans = spansOf(pass, hasTime, undefined);
  if (!spans || ((spans.versus || related.length > 0) && hasTime)) return failed(pass);
  const criteria = criteriaOf(pass, candidate, placed, dimensions);
  useRest(pass, candidate, order, dimensions, placed);
  const rows = placed.filter((one) => !criteria.rate?.includes(one));
  const intent: Intent = {
    ...figure,
    shape: shapeOf(figure, spans),
    base: candidate.base,
    dimensions: [...dimensions, ...criteria.compared],
    conditions: [...candidate.conditions, ...rows.map(({ condition }) => condition), ...related],
    span: spans.span && { ...spans.span, period: inWhole(spans.span.period, grainOf(dimensions)) },
    day: spans.day,
    versus: spans.versus,
    share: criteria.share,
    rate: criteria.rate?.map(({ condition }) => condition),
    having: criteria.having,
    ...orderedBy(pass, candidate, figure.shape, { order, hasTime, isSingle: subject?.isSingle }),
    assumed: pass.assumed,
  };
  const isMentioned =
    candidate.isTerm === true || candidate.quantity?.isTerm === true || tiles.some(({ tables }) => tables.includes(candidate.base));
  return {
    intent: isSound(pass, candidate, intent, order) ? intent : undefined,
    unused: pass.unused(),
    foretells: spans.foretells,
    why,
    isMentioned,
  };
}

/**
 * `by customer` makes groups of another figure, `paid all invoices` is more than one, `no overdue invoices` are not the overdue ones, and
 * `employee turnover` is how many leave.
 */
const isMisread = (pass: Pass, { subject, isTerm, tiles }: Candidate): boolean =>
  (isTerm === true && tiles.some((at) => pass.tiles[at]?.words[0]?.stem === 'turnover' && (pass.tiles[at - 1]?.tables.length ?? 0) > 0)) ||
  (subject !== undefined &&
    pass.tiles.some(({ words }, at) => at > 0 && words[0]?.lower === 'all' && !pass.tiles[at + 1]?.tables.includes(subject))) ||
  (subject !== undefined && pass.has(pass.beside(tiles[0] as number, -1), 'by')) ||
  (isTerm === true && tiles.some((at) => conditions.negationOf(pass, at) !== undefined));

/** `which patients never paid a bill` are not found among the unpaid bills. */
const negatesRows = (pass: Pass, { quantity }: Candidate): boolean =>
  quantity === undefined &&
  pass.tiles.some(({ words }, at) => pass.isUsed(at) && /^(no|never|without|with no|without any)$/.test(textOf(words)));

const textOf = (words: Tile['words']): string => words.map(({ lower }) => lower).join(' ');

const grainOf = (dimensions: readonly Dimension[]) => dimensions.flatMap((one) => (one.kind === 'time' ? [one.grain] : []))[0];

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

function conditionsOf(pass: Pass, candidate: Candidate, hasGroups: boolean): conditions.Placed[] {
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
    ...conditions.missingConditions(pass),
    ...conditions.flagConditions(pass),
    ...conditions.doneConditions(pass, (at) => at === day),
    ...conditions.valueConditions(pass, (at) => at === day, candidate.subject !== undefined),
    ...((hasGroups && candidate.quantity) || candidate.subject ? [] : numberConditions(pass, hasGroups && !pass.mentions('count'))),
  ];
  return [...placed, ...conditions.nowConditions(pass, placed)];
}

/** The conditions that words ask for, whatever the figure. */
export function rowConditions(pass: Pass): conditions.Placed[] {
  return [
    ...columnConditions(pass),
    ...lateDaysFirst(pass),
    ...lateConditions(pass),
    ...conditions.termConditions(pass),
    ...conditions.flagConditions(pass),
    ...conditions.valueConditions(pass),
    ...numberConditions(pass),
  ];
}

/** More than 30 days overdue is also overdue. */
function lateDaysFirst(pass: Pass): conditions.Placed[] {
  return comparisonsOf(pass).length > 0 && pass.mentions('late') ? numberConditions(pass) : [];
}
