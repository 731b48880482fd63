import { pathTo, reachable, type Schema, type Table } from '../schema/schema.ts';
import type { ValueIndex } from '../schema/value-index.ts';
import type { Tag } from '../words/phrases.ts';
import type { ColumnMeaning, Tile } from './tiles.ts';

/** One attempt to account for every tile of a question, over the rows of one table. */
export class Pass {
  readonly tiles: readonly Tile[];
  readonly base: Table;
  readonly schema: Schema;
  readonly index: ValueIndex;
  /** A program says beside the question what its pronouns mean. */
  readonly hasContext: boolean;
  /** The base and the tables along its keys, the nearest ones first. */
  readonly tables: readonly Table[];
  readonly #distances = new Map<string, number>();
  readonly #used = new Set<number>();
  readonly #refused = new Set<number>();
  readonly assumed: string[] = [];

  constructor(tiles: readonly Tile[], base: Table, schema: Schema, index: ValueIndex, hasContext = false) {
    this.tiles = tiles;
    this.base = base;
    this.schema = schema;
    this.index = index;
    this.hasContext = hasContext;
    this.tables = reachable(base, schema);
  }

  use(...positions: readonly number[]): void {
    for (const at of positions) this.#used.add(at);
  }

  /** Leaves words without a use for good: they contradict others. */
  refuse(...positions: readonly number[]): void {
    for (const at of positions) this.#refused.add(at);
  }

  isUsed = (at: number): boolean => this.#used.has(at);

  has = (at: number, tag: Tag): boolean => this.tiles[at]?.tags.includes(tag) ?? false;

  /** The positions of the tiles with one of these tags that have no use yet. */
  find(...tags: readonly Tag[]): number[] {
    return this.tiles.flatMap((tile, at) => (!this.isUsed(at) && tile.tags.some((tag) => tags.includes(tag)) ? [at] : []));
  }

  /** As `find`, also where a tile has a use. */
  mentions = (...tags: readonly Tag[]): boolean => this.tiles.some((tile) => tile.tags.some((tag) => tags.includes(tag)));

  reaches = (name: string): boolean => this.tables.some((table) => table.name === name);

  /** The number of keys that lead to a table. */
  distance(name: string): number {
    const distance = this.#distances.get(name) ?? pathTo(this.schema, this.base, name)?.length ?? Number.POSITIVE_INFINITY;
    this.#distances.set(name, distance);
    return distance;
  }

  /** The meaning that is in the nearest table. */
  nearest<T extends { readonly table: Table }>(meanings: readonly T[]): T | undefined {
    return this.tables.flatMap((table) => meanings.find((meaning) => meaning.table === table) ?? [])[0];
  }

  columnAt = (at: number, suits: (meaning: ColumnMeaning) => boolean): ColumnMeaning | undefined =>
    this.nearest((this.tiles[at]?.columns ?? []).filter(suits));

  dayAt = (at: number): ColumnMeaning | undefined => this.nearest(this.tiles[at]?.days ?? []);

  /** The next position that is more than grammar, in either direction. */
  beside(at: number, step: 1 | -1): number {
    let next = at + step;
    while (this.tiles[next]?.isFiller && isBare(this.tiles[next] as Tile)) next += step;
    return next;
  }

  /** The tiles that nothing accounts for. */
  unused = (): Tile[] => this.tiles.filter((tile, at) => this.#refused.has(at) || (!this.isUsed(at) && !(tile.isFiller && isBare(tile))));
}

/** True for words of grammar that mean nothing else. */
const isBare = ({ tags, tables, columns, days, values, concepts, period, number }: Tile): boolean =>
  [tags, tables, columns, days, values, concepts].every(({ length }) => length === 0) && period === undefined && number === undefined;
