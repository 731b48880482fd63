import type { Candidate } from '../meaning/candidates.ts';
import type { Dimension } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { Tile } from '../meaning/tiles.ts';
import { labelColumn } from '../schema/roles.ts';
import { pathTo, type Table } from '../schema/schema.ts';
import type { Order } from './order.ts';

/** Words that repeat what is known already: tables along keys, names of columns in use, who and which. */
export function useRest(pass: Pass, candidate: Candidate, order: Order | undefined, dimensions: readonly Dimension[]): void {
  for (const [at, tile] of pass.tiles.entries())
    if (
      !pass.isUsed(at) &&
      (repeatsData(pass, at, candidate, dimensions) || repeatsUnit(tile, candidate) || isGrammar(pass, at, candidate.base))
    )
      pass.use(at);
  for (const by of pass.find('by')) if (order && pass.isUsed(pass.beside(by, 1))) pass.use(by);
}

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

/** `worth` of money, `units` of pieces, `different` customers that are counted once. */
const repeatsUnit = ({ tags, words }: Tile, { quantity, subject }: Candidate): boolean =>
  (tags.includes('worth') && quantity?.unit === 'money') ||
  (tags.includes('distinct') && subject !== undefined) ||
  (quantity?.unit === 'pieces' && /^(unit|piece|quantity)$/.test(words[0]?.stem ?? ''));

/** Pronouns that a noun before them explains, and words that ask. */
function isGrammar(pass: Pass, at: number, base: Table): boolean {
  const tile = pass.tiles[at] as Tile;
  const nounBefore = pass.tiles.slice(0, at).some(({ tables, concepts }) => tables.length > 0 || concepts.length > 0);
  if (tile.tags.includes('pronoun')) return nounBefore || (at > 0 && /^(it|that|its)$/.test(tile.words[0]?.lower ?? '')) || pass.hasContext;
  if (tile.tags.includes('who')) return labelColumn(base) !== undefined || nounBefore;
  return pass.has(at, 'which') || (pass.has(at, 'only') && at > 0);
}
