import { namesState } from '../conditions/conditions.ts';
import { lateDays } from '../conditions/late.ts';
import { dayOf } from '../meaning/candidates.ts';
import type { Day, Span } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { ColumnMeaning } from '../meaning/tiles.ts';
import { lasts } from '../schema/concepts.ts';
import { beginDate, datesOf, dueDate, endDate, isPlanned } from '../schema/roles.ts';
import { withComing } from '../words/calendar.ts';
import { directions, type Period } from '../words/grains.ts';
import { lastToTheSameDay, previousOf, today } from '../words/periods.ts';
import { stemsOfName } from '../words/words.ts';

interface Spans {
  readonly span: Span | undefined;
  readonly versus: Period | undefined;
  readonly day: Day | undefined;
  /** The question is about days that have not come, and the rows are not planned ahead. */
  readonly foretells: boolean;
}

/** The day to which a span applies: one that a verb or name gives, else the day on which the rows begin. */
export function dayOfRows(pass: Pass, isNeeded: boolean): { day: Day; at: number | undefined } | undefined {
  for (const [at] of pass.tiles.entries()) {
    if (pass.isUsed(at) || (namesState(pass, at) && pass.tiles[pass.beside(at, 1)]?.tables.includes(pass.base))) continue;
    const named = pass.dayAt(at) ?? pass.columnAt(at, ({ column }) => column.kind === 'date');
    if (named && isNeeded) return isOfOthers(pass, at, named) ? undefined : { day: dayOf(plannedDay(pass, named)), at };
  }
  const day = lateEnd(pass) ?? firstDay(pass);
  return day && { day, at: undefined };
}

/** Revenue from new customers: the year is that of the customers, of the revenue, or of both; employees join on another day than customers. */
const isOfOthers = (pass: Pass, at: number, { table }: ColumnMeaning): boolean => {
  const before = pass.beside(at, -1);
  const nouns = pass.tiles[pass.has(before, 'who') || pass.has(before, 'which') ? pass.beside(before, -1) : before]?.tables ?? [];
  return table !== pass.base && (pass.tiles[at]?.words[0]?.lower === 'new' || (nouns.length > 0 && !nouns.includes(table)));
};

function firstDay(pass: Pass): Day | undefined {
  for (const table of pass.tables) {
    const column = (table === pass.base && isLate(pass) ? dueDate(table) : undefined) ?? beginDate(table);
    if (column) return dayOf({ table, column });
  }
  return undefined;
}

const isLate = (pass: Pass): boolean =>
  pass.mentions('late') || pass.tiles.some(({ concepts }) => concepts.some(({ label }) => label === 'overdue amount'));

/** Loans returned late last month ended in it. */
function lateEnd(pass: Pass): Day | undefined {
  const end = pass.mentions('late', 'onTime') ? lateDays(pass)?.end : undefined;
  const isNamed = pass.tiles.some((_, at) => pass.dayAt(at)?.table.name === end?.table && pass.dayAt(at)?.column.name === end?.column);
  return isNamed ? end : undefined;
}

/** Goods that arrive next week are expected then. */
function plannedDay(pass: Pass, day: ColumnMeaning): ColumnMeaning {
  const due = dueDate(day.table);
  const isAhead = pass.mentions('future') || pass.tiles.some(({ period }) => period?.ahead === true);
  return due && isAhead && endDate(day.table) === day.column ? { table: day.table, column: due } : day;
}

/** Rows such as customers, or stock, last on: a span needs a verb that says what happened in it. */
export const isEntry = (column: string) =>
  stemsOfName(column).some((stem) => /^(created|registered|hired|employed|joined|opened|birth|since|counted|checked|updated)$/.test(stem));

interface StatedPeriod {
  readonly period: Period;
  readonly at: number;
}

const positionOf = (dayOfSpans: { readonly at: number | undefined } | undefined): number[] =>
  dayOfSpans?.at === undefined ? [] : [dayOfSpans.at];

const dayOfSpan = ({ table, column }: Span): Day => ({ table, column });

const isEntryAlone = ({ column }: Day, inherited: Span | undefined) => !inherited && isEntry(column);

/** `open since March` is about the day of a change that no column holds. */
const hasStateSince = (pass: Pass, stated: readonly StatedPeriod[]): boolean =>
  stated.some(({ period, at }) => {
    const before = pass.tiles[pass.beside(at, -1)];
    return period.label.startsWith('since ') && before !== undefined && before.values.length > 0 && before.days.length === 0;
  });

/** `invoices paid last month` were issued on other days, and `orders delivered last month` placed on others. */
const isDoneInSpan = (pass: Pass, [first]: readonly StatedPeriod[], { table, column }: Day): boolean =>
  !isPlanned(column) &&
  pass.tiles.some(({ values, words }, at) => {
    const isDone = /^(paid|delivered|received|returned|collected|settled)$/.test(words[0]?.lower ?? '');
    const isOfRows = values.some((value) => value.table === table) && table === pass.base.name;
    return isDone && isOfRows && first !== undefined && at < first.at && !pass.tiles[pass.beside(at, 1)]?.tables.includes(pass.base);
  });

/** Requests are made before their rows start: `made` names a day that may differ from the day of the start. */
const isMade = (pass: Pass, { table, column }: Day): boolean =>
  /^(start|begin)/.test(column) &&
  pass.tiles.some(({ words }) => /^(made|make|came|come|placed|put|got|get)$/.test(words[0]?.lower ?? '')) &&
  pass.tables.some(
    (one) => one.name === table && datesOf(one).some((day) => !dueDate(one) && day !== beginDate(one) && day !== endDate(one)),
  );

const isOfOtherDay = (pass: Pass, stated: readonly StatedPeriod[], day: Day, inherited: Span | undefined): boolean =>
  isEntryAlone(day, inherited) || isMade(pass, day) || isDoneInSpan(pass, stated, day);

/** Undefined where too many spans are said, or none of the rows' days is meant. */
function daysSaid(pass: Pass, hasTime: boolean, stated: readonly StatedPeriod[]) {
  const dayOfSpans = dayOfRows(pass, stated.length > 0 || hasTime);
  const isOther = stated.length > 2 || (stated.length > 0 && !dayOfSpans) || hasStateSince(pass, stated);
  return isOther ? undefined : { day: dayOfSpans?.day, named: positionOf(dayOfSpans) };
}

/**
 * The span of time of the question, and the one that it is compared with; undefined where its words fit no span. Marks the words of spans and
 * of their days as used, and refuses those that limit a span.
 */
export function spansOf(pass: Pass, hasTime: boolean, inherited: Span | undefined): Spans | undefined {
  const stated = pass.tiles.flatMap(({ period }, at): StatedPeriod[] => (period && !pass.isUsed(at) ? [{ period, at }] : []));
  const days = daysSaid(pass, hasTime, stated);
  if (!days) return undefined;
  pass.refuse(...stated.flatMap(({ period, at }) => positionsOfLimits(pass, period, at)));
  const { named } = days;
  const day = named.length === 0 && inherited ? dayOfSpan(inherited) : days.day;
  const isFuture = pass.find('future');
  pass.use(...stated.map(({ at }) => at), ...isFuture, ...named);
  const periods = stated.map(({ period }) => period);
  const foretells = (isFuture.length > 0 || periods[0]?.ahead === true) && !isPlanned(day?.column ?? '');
  if (foretells || !day) return { span: foretells ? undefined : inherited, versus: undefined, day, foretells };
  const isClear = periods.length === 0 || named.length > 0 || !isOfOtherDay(pass, stated, day, inherited);
  return isClear ? withDay(pass, pairOf(pass, day, periods, { hasTime, inherited }), day, inherited) : undefined;
}

/** `through March`, `as of March`, `late March`: other days than those of the span. */
function positionsOfLimits({ tiles }: Pass, period: Period, at: number): number[] {
  const wordAt = (position: number) => tiles[position]?.words.at(-1)?.lower ?? '';
  const before = wordAt(at - 1) === 'the' ? at - 2 : at - 1;
  const isMonth = period.grain === 'month' && !directions.has(tiles[at]?.words[0]?.lower ?? '');
  if (wordAt(before) === 'through' || (isMonth && /^(late|early)$/.test(wordAt(before)))) return [before];
  return wordAt(before) === 'of' && wordAt(before - 1) === 'as' ? [before - 1, before] : [];
}

/** A month without a year is the last one, or of what is planned ahead one that comes soon. */
function withDay(pass: Pass, pair: Pair | undefined, day: Day, inherited: Span | undefined): Spans | undefined {
  if (!pair) return undefined;
  const isPast = pass.tiles.some(({ words }) => /^(was|were|did|had)$/.test(words[0]?.lower ?? ''));
  const mayCome = isPlanned(day.column) && !isPast;
  const resolved = (period: Period) => (mayCome ? withComing(period) : period);
  const { span, versus } = pair;
  const bare = span !== inherited && [span?.period, versus].some((period) => period?.isBare);
  if (bare)
    pass.assumed.push(
      mayCome ? 'without a year, the last one or one in the next six months' : 'without a year, the last one that has begun',
    );
  return { span: span && { ...span, period: resolved(span.period) }, versus: versus && resolved(versus), day, foretells: false };
}

function pairOf(
  pass: Pass,
  day: Day,
  [first, second]: readonly Period[],
  { hasTime, inherited }: { hasTime: boolean; inherited: Span | undefined },
): Pair | undefined {
  const isGrowth = !hasTime && pass.find('growth').length > 0;
  const until = lasts(pass.base) && isAbsence(pass) ? endDate(pass.base)?.name : undefined;
  const ofRows = { ...day, ...(until !== undefined && { until }) };
  // Rows that last several days are on all of them.
  if (until !== undefined && [first, second].some((period) => period?.weekdays)) return undefined;
  if (second && first) return ofTwo(pass, ofRows, first, second);
  if (isGrowth) return growth(pass, ofRows, first);
  // `and the same month last year?` is set beside the month of the question before.
  if (first?.repeats && inherited) return { span: inherited, versus: first };
  if (!first && !inherited && until !== undefined) {
    pass.assumed.push('today');
    return { span: { ...ofRows, period: today }, versus: undefined };
  }
  return continuePeriod(ofRows, first, inherited);
}

/** `and on Mondays?` keeps the span of the question before, and `and last year?` its weekdays. */
function continuePeriod(day: Omit<Span, 'period'>, period: Period | undefined, inherited: Span | undefined): Pair | undefined {
  if (!period) return { span: inherited, versus: undefined };
  const isJoined = inherited && (period.weekdays === undefined) !== (inherited.period.weekdays === undefined);
  const inSpan = isJoined ? joinedOf(inherited.period, period) : period;
  return inSpan && { span: { ...day, period: inSpan }, versus: undefined };
}

type Pair = Pick<Spans, 'span' | 'versus'>;

/** The present span so far, against as many days of the one before. */
function growth(pass: Pass, day: Omit<Span, 'period'>, period: Period | undefined): Pair | undefined {
  const spans = isOver(pass, period) ? { now: period, before: previousOf(period) } : lastToTheSameDay(period);
  pass.use(...pass.find('growth'));
  return spans?.before && { span: { ...day, period: spans.now }, versus: spans.before };
}

/** `growth last quarter` is that of the last one, and `growth against last quarter` that of the present one. */
const isOver = (pass: Pass, period: Period | undefined): period is Period =>
  period !== undefined &&
  /^(last|previous|past) /.test(period.label) &&
  pass.tiles.some(
    (tile, at) =>
      tile.period === period &&
      !/^(over|from|since|against|vs|versus|with|to|than|on)$/.test(pass.tiles[at - 1]?.words.at(-1)?.lower ?? ''),
  );

/** Two spans are compared, or are the two ends of one. */
function ofTwo(pass: Pass, day: Omit<Span, 'period'>, first: Period, second: Period): Pair | undefined {
  if (first.grain && second.grain && first.grain !== second.grain) return undefined;
  const compares = pass.find('compare', 'growth');
  if (compares.length > 0 || pass.mentions('change') || second.repeats) {
    if ((first.weekdays === undefined) !== (second.weekdays === undefined)) return undefined;
    pass.use(...compares, ...pass.find('change', 'and'));
    // `from last year to this year` names the earlier one first.
    const isFrom = pass.tiles.some(({ period }, at) => period === first && pass.tiles[at - 1]?.words[0]?.lower === 'from');
    return isFrom ? { span: { ...day, period: second }, versus: first } : { span: { ...day, period: first }, versus: second };
  }
  const joined = joinedOf(first, second);
  pass.use(...pass.find('and'));
  return joined && { span: { ...day, period: joined }, versus: undefined };
}

/** Who is on leave this week may have left before it. */
const isAbsence = (pass: Pass) => pass.tiles.some(({ concepts }) => concepts.some(({ label }) => label === 'people on leave'));

/** `after 2026-01-31 and before 2026-03-01` */
function joinedOf(a: Period, b: Period): Period | undefined {
  if (a.weekdays === undefined && b.weekdays !== undefined)
    return { ...a, weekdays: b.weekdays, label: `${a.label} ${b.weekdays.label}`, grain: undefined };
  if (a.weekdays !== undefined) return b.weekdays === undefined ? joinedOf(b, a) : undefined;
  const [from, to] = [a.from ?? b.from, a.to ?? b.to];
  const isJoined = (a.to === undefined && b.from === undefined) || (a.from === undefined && b.to === undefined);
  return isJoined && from !== undefined && to !== undefined ? { label: `${a.label} and ${b.label}`, from, to } : undefined;
}

/** The span to explain and the one before it. */
export const spanOfChange = (span: Span): Period | undefined => previousOf(span.period);
