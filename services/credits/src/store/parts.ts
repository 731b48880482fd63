/** A parameter of a part, counted from 1 within it, as the whole statement names it. */
export type Slot = (n: number) => string;

/** One of the writes that are put together to a statement. Every row it writes must come `from guard`: without that nothing is written. */
export interface PartKind {
  readonly name: string;
  /** How many parameters it has. */
  readonly size: number;
  readonly text: (slot: Slot) => string;
}

export interface Part {
  readonly kind: PartKind;
  readonly values: readonly unknown[];
}

/** The tenant and the stamp that all parts share: $1, $2 and $3. */
const shared = 3;
const texts = new Map<string, string>();

/** One statement of all parts; the first is the guard, and a row comes back if it held. The same kinds have the same text. */
export function statementOf(kinds: readonly PartKind[]): string {
  const key = kinds.map(({ name }) => name).join(' ');
  const text = texts.get(key) ?? compose(kinds);
  texts.set(key, text);
  return text;
}

function compose(kinds: readonly PartKind[]): string {
  let taken = shared;
  const parts = kinds.map(({ size, text }) => {
    const before = taken;
    taken += size;
    return text((n) => `$${before + n}`);
  });
  return `with ${parts.join(', ')} select stamp from guard`;
}
