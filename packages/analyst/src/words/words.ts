/** One word of a question. */
export interface Word {
  readonly text: string;
  readonly lower: string;
  readonly stem: string;
}

/** Words, numbers and dates of a text, in order; what else there is says nothing to us. `order_date` is two words. */
export function wordsOf(text: string): Word[] {
  return [...spelledOut(text).matchAll(/\d{4}-\d{2}-\d{2}|\d+(?:[.,]\d+)*(?![\p{L}\p{N}]|[.,]\d)|[\p{L}\p{N}][\p{L}\p{N}'’&.-]*/gu)].map(
    ([match]) => {
      const clean = match.replace(/[.'’-]+$/, '').replace(/['’]s$/, '');
      const lower = clean.toLowerCase();
      return { text: clean, lower, stem: stemOf(lower) };
    },
  );
}

const signs: readonly (readonly [sign: RegExp, words: string])[] = [
  [/<>|!=|≠/g, ' not '],
  [/>=|≥/g, ' at least '],
  [/<=|≤/g, ' at most '],
  [/>/g, ' over '],
  [/</g, ' under '],
];

/** `total > 1000` says no less than `total over 1000`. */
const spelledOut = (text: string) => signs.reduce((all, [sign, words]) => all.replaceAll(sign, words), text);

/** The singular, near enough for names of tables and columns. */
export function stemOf(word: string): string {
  if (word.length <= 3 || /(ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(sh|ch|x|ss|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

/** The plural, near enough for the same names. */
export function pluralOf(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(s|sh|ch|x|z)$/.test(word) ? `${word}es` : `${word}s`;
}

/** The words of a name such as `purchase_orders` or `OrderLines`, stemmed. */
export const stemsOfName = (name: string): string[] =>
  name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .map(stemOf);

/** Where these stems stand one after the other; -1 for nowhere. */
export function indexOfStems(words: readonly Word[], stems: readonly string[], from = 0): number {
  for (let start = from; start + stems.length <= words.length; start += 1)
    if (stems.every((stem, index) => words[start + index]?.stem === stem)) return start;
  return -1;
}

export const has = (words: readonly Word[], ...phrases: readonly string[]): boolean =>
  phrases.some((phrase) => indexOfStems(words, phrase.split(' ').map(stemOf)) >= 0);
