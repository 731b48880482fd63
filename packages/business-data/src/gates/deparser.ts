import { Deparser } from 'pgsql-deparser';

type Fields = Readonly<Record<string, unknown>>;
type Context = Parameters<Deparser['SelectStmt']>[1];
type Select = Parameters<Deparser['SelectStmt']>[0];

/**
 * The library's deparser with the missing FETCH ... WITH TIES, and functions and tables of SQL/JSON.
 * Safety does not depend on it: the text is parsed again and compared with the tree.
 */
export class CompleteDeparser extends Deparser {
  override SelectStmt(node: Select, context: Context): string {
    if (node.limitOption !== 'LIMIT_OPTION_WITH_TIES' || node.limitCount === undefined) return super.SelectStmt(node, context);
    const { limitCount, ...rest } = node;
    return `${super.SelectStmt(rest, context)} FETCH FIRST (${this.visit(limitCount, context)}) ROWS WITH TIES`;
  }

  JsonFuncExpr(node: Fields, context: Context): string {
    const name = functionNames.get(String(node['op']));
    if (name === undefined) throw new Error(`unknown SQL/JSON function ${String(node['op'])}`);
    const parts = [`${this.#value(node['context_item'], context)}, ${this.#node(node['pathspec'], context)}`, this.#passing(node, context)];
    return `${name}(${spaced([...parts, this.#output(node['output'], context), ...this.#options(node, context)])})`;
  }

  JsonTable(node: Fields, context: Context): string {
    const path = this.#path(node['pathspec'], context);
    const columns = this.#columns(node['columns'], context);
    const inside = [`${this.#value(node['context_item'], context)}, ${path}`, this.#passing(node, context), columns];
    const error = this.#behavior(node['on_error'], 'ERROR', context);
    const table = `${node['lateral'] ? 'LATERAL ' : ''}JSON_TABLE(${spaced([...inside, error])})`;
    const alias = node['alias'];
    return alias === undefined ? table : `${table} ${this.visit({ Alias: alias } as never, context)}`;
  }

  JsonArgument(node: Fields, context: Context): string {
    return `${this.#value(node['val'], context)} AS ${quoted(node['name'])}`;
  }

  JsonTableColumn(node: Fields, context: Context): string {
    const name = quoted(node['name']);
    const type = node['typeName'] === undefined ? '' : this.visit({ TypeName: node['typeName'] } as never, context);
    const path = node['pathspec'] === undefined ? '' : `PATH ${this.#path(node['pathspec'], context)}`;
    const kind = String(node['coltype']);
    if (kind === 'JTC_FOR_ORDINALITY') return `${name} FOR ORDINALITY`;
    if (kind === 'JTC_NESTED') return spaced(['NESTED', path, this.#columns(node['columns'], context)]);
    const exists = kind === 'JTC_EXISTS' ? 'EXISTS' : '';
    const format = kind === 'JTC_FORMATTED' ? 'FORMAT JSON' : '';
    return spaced([name, type, exists, format, path, ...this.#options(node, context)]);
  }

  #columns(columns: unknown, context: Context): string {
    return `COLUMNS (${(columns as unknown[]).map((column) => this.#node(column, context)).join(', ')})`;
  }

  #passing(node: Fields, context: Context): string {
    const passing = node['passing'];
    return Array.isArray(passing) ? `PASSING ${passing.map((argument) => this.#node(argument, context)).join(', ')}` : '';
  }

  #options(node: Fields, context: Context): string[] {
    const { wrapper, quotes, on_empty: empty, on_error: error } = node;
    return [
      wrappers.get(String(wrapper)) ?? '',
      quotings.get(String(quotes)) ?? '',
      this.#behavior(empty, 'EMPTY', context),
      this.#behavior(error, 'ERROR', context),
    ];
  }

  #behavior(behavior: unknown, on: 'EMPTY' | 'ERROR', context: Context): string {
    if (behavior === undefined) return '';
    const { btype, expr } = behavior as Fields;
    const text = expr === undefined ? behaviors.get(String(btype)) : `DEFAULT ${this.#node(expr, context)}`;
    if (text === undefined) throw new Error(`unknown SQL/JSON behaviour ${String(btype)}`);
    return `${text} ON ${on}`;
  }

  #output(output: unknown, context: Context): string {
    if (output === undefined) return '';
    const { typeName } = output as Fields;
    return `RETURNING ${this.visit({ TypeName: typeName } as never, context)}`;
  }

  #path(path: unknown, context: Context): string {
    const { string, name } = path as Fields;
    return `${this.#node(string, context)}${name === undefined ? '' : ` AS ${quoted(name)}`}`;
  }

  #value(value: unknown, context: Context): string {
    return this.visit({ JsonValueExpr: value } as never, context);
  }

  #node(node: unknown, context: Context): string {
    return this.visit(node as never, context);
  }
}

const spaced = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' ');
const quoted = (name: unknown): string => `"${String(name).replaceAll('"', '""')}"`;

const functionNames = new Map([
  ['JSON_VALUE_OP', 'JSON_VALUE'],
  ['JSON_QUERY_OP', 'JSON_QUERY'],
  ['JSON_EXISTS_OP', 'JSON_EXISTS'],
]);

const wrappers = new Map([
  ['JSW_NONE', 'WITHOUT WRAPPER'],
  ['JSW_CONDITIONAL', 'WITH CONDITIONAL WRAPPER'],
  ['JSW_UNCONDITIONAL', 'WITH UNCONDITIONAL WRAPPER'],
]);

const quotings = new Map([
  ['JS_QUOTES_KEEP', 'KEEP QUOTES'],
  ['JS_QUOTES_OMIT', 'OMIT QUOTES'],
]);

const behaviors = new Map([
  ['JSON_BEHAVIOR_NULL', 'NULL'],
  ['JSON_BEHAVIOR_ERROR', 'ERROR'],
  ['JSON_BEHAVIOR_EMPTY', 'EMPTY ARRAY'],
  ['JSON_BEHAVIOR_EMPTY_ARRAY', 'EMPTY ARRAY'],
  ['JSON_BEHAVIOR_EMPTY_OBJECT', 'EMPTY OBJECT'],
  ['JSON_BEHAVIOR_TRUE', 'TRUE'],
  ['JSON_BEHAVIOR_FALSE', 'FALSE'],
  ['JSON_BEHAVIOR_UNKNOWN', 'UNKNOWN'],
]);
