import { columnName } from './identifiers.ts';
import { pathTo, type Schema, type Table, tableOf } from './schema.ts';

/** Tables of a statement: the base, and those that are met along keys. */
export class Tables {
  readonly #aliases = new Map<string, string>();
  readonly #joins: string[] = [];
  readonly #base: Table;
  readonly #schema: Schema;

  constructor(base: Table, schema: Schema) {
    this.#base = base;
    this.#schema = schema;
    this.#aliases.set(base.name, 't0');
  }

  alias(name: string): string {
    const known = this.#aliases.get(name);
    if (known) return known;
    let from = this.#base.name;
    for (const key of pathTo(this.#schema, this.#base, name) ?? []) {
      if (!this.#aliases.has(key.table)) this.#join(from, key.table, key.column, key.references);
      from = key.table;
    }
    const alias = this.#aliases.get(name);
    if (!alias) throw new Error(`no key leads from ${this.#base.name} to ${name}`);
    return alias;
  }

  column(table: string, column: string): string {
    return `${this.alias(table)}.${columnName(column)}`;
  }

  #join(from: string, to: string, column: string, references: string): void {
    const alias = `t${this.#aliases.size}`;
    const on = `${alias}.${columnName(references)} = ${this.#aliases.get(from)}.${columnName(column)}`;
    this.#joins.push(`left join ${tableOf(this.#schema, to)?.written} ${alias} on ${on}`);
    this.#aliases.set(to, alias);
  }

  get sql(): string {
    return [`from ${this.#base.written} t0`, ...this.#joins].join(' ');
  }
}
