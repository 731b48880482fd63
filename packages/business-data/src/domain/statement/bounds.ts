import { isTree, stringNode, type Tree } from './tree.ts';

/** Longer than any chart bar, padding, separator or name; a longer value is cut to it. */
export const longestBound = 1_000;

/** Arguments of one statement that get a bound, so that a value of any length in a column cannot multiply another one. */
export class Bounds {
  readonly #functions = new Map<unknown, string>();

  /** Returns the bound. A strict function, unlike LEAST: null stays null. */
  limitCount(node: unknown): number {
    this.#functions.set(node, 'int4smaller');
    return longestBound;
  }

  limitText(node: unknown): number {
    this.#functions.set(node, 'left');
    return longestBound;
  }

  /** The statement with its bounds. */
  apply(statement: Tree): Tree {
    return this.#functions.size === 0 ? statement : (this.#limited(statement) as Tree);
  }

  #limited(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((item) => this.#limited(item));
    if (!isTree(node)) return node;
    const copy = Object.fromEntries(Object.entries(node).map(([field, value]) => [field, this.#limited(value)]));
    const name = this.#functions.get(node);
    return name === undefined ? copy : callOf(name, copy);
  }
}

const callOf = (name: string, node: Tree): Tree => ({
  FuncCall: {
    funcname: [stringNode(name)],
    args: [node, { A_Const: { ival: { ival: longestBound } } }],
    funcformat: 'COERCE_EXPLICIT_CALL',
  },
});
