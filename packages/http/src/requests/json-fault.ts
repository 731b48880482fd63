const token =
  /([{}[\],:])|("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;
const blanks = /[ \t\n\r]*/y;

/** The kinds of token that may come next, with how a message calls them. */
const expected = {
  value: 'a value',
  valueOrEnd: 'a value or ]',
  name: 'a name in double quotes',
  nameOrEnd: 'a name in double quotes or }',
  colon: 'a colon',
  next: 'a comma or the closing bracket',
  end: 'nothing more',
} as const;
type Expected = keyof typeof expected;

/**
 * Finds the place where a text stops being JSON, and what may come there. Only for texts that the parser has refused: its own message
 * quotes the text, which may hold secrets, and mostly has no position.
 */
export function findJsonFault(text: string): string {
  const open: string[] = [];
  let state: Expected = 'value';
  let at = 0;
  for (;;) {
    blanks.lastIndex = at;
    at += blanks.exec(text)?.[0].length ?? 0;
    token.lastIndex = at;
    const match = token.exec(text);
    const following: Expected | undefined = match ? nextState(state, match[1] ?? (match[2] === undefined ? 'v' : '"'), open) : undefined;
    if (!match || !following) return describe(text, at, state);
    state = following;
    at += match[0].length;
  }
}

const accepted: Readonly<Record<Expected, string>> = {
  value: '{["v',
  valueOrEnd: '{["v]',
  name: '"',
  nameOrEnd: '"}',
  colon: ':',
  next: ',]}',
  end: '',
};

/** The state after the token; undefined if the token may not come. */
function nextState(state: Expected, kind: string, open: string[]): Expected | undefined {
  if (!accepted[state].includes(kind)) return undefined;
  if (kind === '{' || kind === '[') {
    open.push(kind);
    return kind === '{' ? 'nameOrEnd' : 'valueOrEnd';
  }
  const inObject = open.at(-1) === '{';
  if (kind === ',') return inObject ? 'name' : 'value';
  if (kind === ':') return 'value';
  if (kind === '}' || kind === ']') {
    if (inObject !== (kind === '}')) return undefined;
    open.pop();
    return afterValue(open);
  }
  return state === 'name' || state === 'nameOrEnd' ? 'colon' : afterValue(open);
}

const afterValue = (open: readonly unknown[]): Expected => (open.length === 0 ? 'end' : 'next');

function describe(text: string, at: number, state: Expected): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  const actual = at >= text.length ? 'it ends' : 'there is something else';
  return `The body is not valid JSON: ${expected[state]} must come at line ${line}, column ${column}, where ${actual}.`;
}
