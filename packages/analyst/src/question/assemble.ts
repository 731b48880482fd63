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
  if (candidate.subject && pass.has(pass.beside(candidate.tiles[0] as number, -1), 'by')) return failed(pass);
  const why = explains(pass);
  const order = orderOf(pass);
  const subject = subjectOf(pass, candidate, order);
  const dimensions = dimensionsOf(pass, subject?.dimensions ?? []);
  const placed = conditionsOf(pass, candidate, dimensions.length > 0);
  const figure = figureOf(pass, candidate, dimensions, order);
  if (!figure || !isCountedNoun(pass, candidate, figure)) return failed(pass);
  const related = candidate.quantity || candidate.subject ? [] : relatedOf(pass);
  const hasTime = grainOf(dimensions) !== undefined;
  const spans = spansOf(pass, hasTime, undefined);
  if (!spans || ((spans.versus || related.length > 0) && hasTime)) return failed(pass);
  const criteria = criteriaOf(pass, candidate, placed, dimensions);
  useRest(pass, candidate, order, dimensions);
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
  return { intent: isSound(intent, order) ? intent : undefined, unused: pass.unused(), foretells: spans.foretells, why, isMentioned };
}

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
  return [
    ...late,
    ...conditions.partConditions(pass),
    ...conditions.rateConditions(pass),
    ...conditions.termConditions(pass),
    ...conditions.missingConditions(pass),
    ...conditions.flagConditions(pass),
    ...conditions.doneConditions(pass, (at) => at === day),
    ...conditions.valueConditions(pass, (at) => at === day),
    ...((hasGroups && candidate.quantity) || candidate.subject ? [] : numberConditions(pass)),
  ];
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
