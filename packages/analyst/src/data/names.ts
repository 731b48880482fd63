const part = String.raw`(?:"(?:[^"]|"")*"|[^\s"().,:|]+)`;
const nameHere = new RegExp(String.raw`${part}(?:\.${part})?`, 'y');

/** The name that stands at a place of a text, as statements write it; quoted names may hold anything, also line ends. */
export function nameAt(text: string, at: number): string | undefined {
  nameHere.lastIndex = at;
  return nameHere.exec(text)?.[0];
}

/** `(a, "b c")` at a place of a text, and where it ends. */
export function namesAt(text: string, at: number): { names: string[]; end: number } | undefined {
  if (text[at] !== '(') return undefined;
  const names: string[] = [];
  for (let next = at + 1; ; ) {
    const name = nameAt(text, next);
    if (name === undefined) return undefined;
    names.push(unquoted(name));
    next += name.length;
    if (text[next] === ')') return { names, end: next + 1 };
    if (!text.startsWith(', ', next)) return undefined;
    next += 2;
  }
}

/** The parts of `sales."Order lines"`. */
export const partsOf = (written: string): string[] => [...written.matchAll(new RegExp(part, 'g'))].map(([one]) => unquoted(one));

const unquoted = (name: string): string => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);
