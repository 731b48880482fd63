import type { Placed } from '../conditions/conditions.ts';
import type { Candidate } from '../meaning/candidates.ts';
import type { Dimension } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { Tile } from '../meaning/tiles.ts';
import { currencyAtEnd, currencyOfWord, isPeople } from '../schema/roles.ts';
import { pathTo, type Table, tableOf } from '../schema/schema.ts';
import type { Order } from './order.ts';
import { canBeWho } from './subject.ts';

/** Words that repeat what is known already: tables along keys, names of columns in use, who and which. */
export function useRest(
  pass: Pass,
  candidate: Candidate,
  order: Order | undefined,
  dimensions: readonly Dimension[],
  placed: readonly Placed[],
): void {
  for (const [at, tile] of pass.tiles.entries())
    if (
      !pass.isUsed(at) &&
      ((repeatsData(pass, at, candidate, dimensions) && !isOneOfMany(pass, at, candidate)) ||
        repeatsUnit(tile, candidate) ||
        repeatsCurrency(pass, at, candidate, placed) ||
        isGrammar(pass, at, candidate, dimensions))
    )
      pass.use(at);
  if (order) pass.use(...pass.find('by').filter((by) => ranksBy(pass, pass.beside(by, 1), candidate)));
  // Groups are sorted by their figure.
  if (dimensions.length > 0) pass.use(...pass.find('sorted').filter((sorted) => candidate.tiles.includes(pass.beside(sorted, 1))));
  pass.use(...pass.find('and').filter((joint) => joinsConditions(pass, joint, placed)));
}

/** `top 5 orders by total`; the highest mark by subject is one for each subject. */
const ranksBy = (pass: Pass, at: number, { tiles, quantity }: Candidate): boolean =>
  pass.isUsed(at) && (quantity === undefined || tiles.includes(at) || pass.tiles[at]?.tables.length === 0);

function repeatsData(pass: Pass, at: number, { base, quantity }: Candidate, dimensions: readonly Dimension[]): boolean {
  const { tables, columns, concepts } = pass.tiles[at] as Tile;
  const measured = quantity ? quantity.value.sql((_, column) => `.${column} `) : '';
  const isGroup = (table: Table, name: string) =>
    dimensions.some((one) => one.kind === 'column' && one.table === table.name && one.column === name);
  return (
    (!pass.has(pass.beside(at, -1), 'not') && tables.some((table) => pathTo(pass.schema, base, table.name))) ||
    columns.some(({ table, column }) => isGroup(table, column.name) || measured.includes(`.${column.name} `)) ||
    concepts.some(({ label }) => label === quantity?.label || (label === 'revenue' && /margin|profit/.test(quantity?.label ?? '')))
  );
}

/** `How many visitors does an event have`: a number for each one, which is neither all of them nor all together. */
function isOneOfMany(pass: Pass, at: number, { base, quantity, subject }: Candidate): boolean {
  const { tables } = pass.tiles[at] as Tile;
  if (tables.length === 0 || !/^an?$/.test(pass.tiles[at - 1]?.words[0]?.lower ?? '')) return false;
  return tables.includes(base) ? quantity !== undefined && pass.mentions('count', 'howMuch') : subject === undefined;
}

/** `over 1000 and under 5000`, `not shipped and not cancelled`: rows must meet both. */
function joinsConditions(pass: Pass, joint: number, placed: readonly Placed[]): boolean {
  const isBefore = placed.some(({ at }) => at < joint);
  const after = placed.filter(({ at }) => at > joint);
  const isNext = after.some(({ at }) =>
    [...pass.tiles.keys()].slice(joint + 1, at).every((one) => pass.isUsed(one) || pass.tiles[one]?.isFiller),
  );
  return isBefore && isNext;
}

/** `20 euros`, where the amounts in use say their currency in their names; without such amounts, those of the rows. */
function repeatsCurrency(pass: Pass, at: number, { base, quantity }: Candidate, placed: readonly Placed[]): boolean {
  const code = currencyOfWord(pass.tiles[at]?.words[0]?.stem);
  const measured = [quantity?.value, quantity?.per].flatMap((one) => one?.sql((_, column) => `.${column} `).match(/(?<=\.)\S+/g) ?? []);
  const compared = placed.map(({ condition }) => condition.key.replace(/^.*\./, ''));
  const inUse = [...measured, ...compared].flatMap((name) => currencyAtEnd(name) ?? []);
  const known = inUse.length > 0 ? inUse : base.columns.flatMap(({ name }) => currencyAtEnd(name) ?? []);
  return code !== undefined && known.length > 0 && known.every((one) => one === code);
}

/** `worth` of money, `units` of pieces, `different` customers that are counted once. */
const repeatsUnit = ({ tags, words }: Tile, { quantity, subject }: Candidate): boolean =>
  (tags.includes('worth') && quantity?.unit === 'money') ||
  (tags.includes('distinct') && subject !== undefined) ||
  (quantity?.unit === 'pieces' && /^(unit|piece|quantity)$/.test(words[0]?.stem ?? ''));

/** Pronouns that a noun before them explains, and words that ask. */
function isGrammar(pass: Pass, at: number, candidate: Candidate, dimensions: readonly Dimension[]): boolean {
  const tile = pass.tiles[at] as Tile;
  const nounBefore = pass.tiles.slice(0, at).some(({ tables, concepts }) => tables.length > 0 || concepts.length > 0);
  if (tile.tags.includes('pronoun')) return nounBefore || (at > 0 && /^(it|that|its)$/.test(tile.words[0]?.lower ?? '')) || pass.hasContext;
  if (tile.tags.includes('who')) return nounBefore || showsPeople(pass, candidate, dimensions);
  if (pass.has(at, 'exactly')) return pass.tiles[pass.beside(at, 1)]?.number === undefined;
  // `customers who order only by web` have no other order.
  return pass.has(at, 'which') || (pass.has(at, 'only') && at > 0 && candidate.subject === undefined);
}

/** `who sold to Alder Hotels` is no amount, and `who bought a desk` not the supplier of it. */
const showsPeople = (pass: Pass, { base, quantity }: Candidate, dimensions: readonly Dimension[]): boolean => {
  const beside = base.foreignKeys.flatMap(({ table }) => tableOf(pass.schema, table) ?? []);
  const isRanked = pass.mentions('most', 'least', 'highest', 'lowest');
  return (
    dimensions.length > 0 ||
    ((quantity === undefined || isRanked || isPeople(base)) && [base, ...beside].some((table) => canBeWho(pass, table)))
  );
};
