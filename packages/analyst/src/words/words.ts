import { LRUCache } from 'lru-cache';

/** One word of a question, or a sign that is not understood. */
export interface Word {
  readonly text: string;
  readonly lower: string;
  readonly stem: string;
  /** As it is in the question, and the characters up to the next word: a value may have them. */
  readonly written: string;
  readonly after: string;
}

/** A number below zero: its sign stands at the begin of a word. */
const negative = /(?<=^|[\s(=$€£])[-−–][$€£]?(?:\d+(?:[.,]\d+)*|\.\d+)[km]?(?![\p{L}\p{N}-]|[.,]\d)/u;
const unsigned = /\d{4}-\d{2}-\d{2}|(?:\d+(?:[.,]\d+)*|(?<![\p{L}\p{N}.,])\.\d+)[km]?(?![\p{L}\p{N}]|[.,]\d)/u;
const letters = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}'’&.-]*[\p{L}\p{M}\p{N}])?/u;

/** The punctuation of a sentence, which says nothing about the data. Every other sign has to be accounted for. */
const meaningless = [
  /[\s\p{Z}\p{C}_,;:?…•—]/u,
  /["'`´“”„‚‘’«»‹›()[\]{}]/u,
  /\.(?![\p{L}\p{N}])|(?<=[\p{L}\p{N}.])\./u,
  /(?<=[\p{L}\p{N}.!?”’)]|[\p{L}\p{N}.!?]["'])!|!(?=\s*$)/u,
  // A dash between clauses, and one of a span.
  /(?<=(?:^|\s)[-–]*)[-–](?=[-–]*(?:\s|$))|[-–](?=\d)|(?<=[\p{L}\p{N}])–(?=\p{L})/u,
  /(?<=\d\s?|\bin |\()\p{Sc}|\p{Sc}(?=\s?[-−–]?\.?\d)/u,
  /(?<![<>!])=(?![<>!])/u,
  /(?<=(?:^|\s))#(?=\d)/u,
  /(?<=\b[Aa]nd)\/(?=or\b)/u,
];
const sign = new RegExp(`(?!${meaningless.map(({ source }) => source).join('|')})([^\\p{L}\\p{N}])\\1*`, 'u');
const word = new RegExp([negative, unsigned, letters, sign].map(({ source }) => source).join('|'), 'gu');

const negation = /^(?:(?:did|does|do|have|has|had|are|is|was|were|ca|can|wo)n['’]?t|cannot)$/i;

/** Words, numbers, dates and signs of a text, in order; the punctuation of a sentence is ignored. `order_date` is two words. */
export function wordsOf(text: string): Word[] {
  const spelled = spelledOut(text);
  const matches = [...spelled.matchAll(word)];
  return matches.map(({ 0: written, index }, at) => {
    const spoken = negation.test(written) ? 'not' : /^%+$/.test(written) ? 'percent' : written;
    const clean = spoken.replace(/^[-−–][$€£]?(?=[\d.])/, '-').replace(/['’]s$/, '');
    const lower = clean.toLowerCase().replaceAll('’', "'");
    return { text: clean, lower, stem: stemOf(lower), written, after: spelled.slice(index + written.length, matches[at + 1]?.index) };
  });
}

const operators = new Map(
  Object.entries({
    '<>': ' not ',
    '!=': ' not ',
    '≠': ' not ',
    '>=': ' at least ',
    '≥': ' at least ',
    '<=': ' at most ',
    '≤': ' at most ',
    '>': ' over ',
    '<': ' under ',
  }),
);

const figure = '\\b(?:total|sum|average|mean|median|number|count)\\b';

const signs: readonly (readonly [sign: RegExp, words: string])[] = [
  [/[‐‑]/g, '-'],
  // Markdown: lists, headings and emphasis.
  [/^\s*(?:[*+-]|#{1,6})\s/gm, ' '],
  [/(?<!\*)(\*{1,3})(?=[^\s*])([^*\n]+)(?<=\S)\1(?!\*)/g, '$2'],
  [new RegExp(`(?<=${figure}.*)\\s-\\s(?=(?:the )?${figure})`, 'gi'), ' − '],
  [/\b(over|above|below|under|than|least|most)\s+[-−–]\s+(?=[$€£]?\.?\d)/gi, '$1 -'],
  [/\bfalls? due\b/gi, ' due '],
  [/\b(days? of (the )?week|week days?)\b/gi, ' weekday '],
  [/\bbreak (.{1,40}?) down\b/gi, ' $1 '],
];

/** `total > 1000` means the same as `total over 1000`. */
const spelledOut = (text: string) =>
  signs.reduce(
    (all, [sign, words]) => all.replaceAll(sign, words),
    text.replaceAll(/(?<!-)[<>=!≠≥≤]+/g, (run) => operators.get(run) ?? run),
  );

const smallNumbers = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

/** Larger numbers are not counts. */
const largestCount = 1e15;

/** `1.000` is a thousand to some readers, and one to others. */
const isAmbiguous = (word: string) => /^[1-9]\d{0,2}(\.\d{3})+[km]?$/.test(word);

/** As `numberOf`, also below zero. */
export const signedNumberOf = (word: string): number | undefined => {
  const number = numberOf(word.replace(/^-/, ''));
  return number !== undefined && word.startsWith('-') ? -number : number;
};

/** The number that a word names in digits, or in letters up to twelve; undefined where its point may divide thousands. */
export function numberOf(word: string | undefined): number | undefined {
  if (word === undefined || isAmbiguous(word)) return undefined;
  if (/^(\d{1,3}(,\d{3})*(\.\d+)?|\d+(\.\d+)?|\.\d+)[km]?$/.test(word)) {
    const number = Number(word.replaceAll(/[,km]/g, '')) * (word.endsWith('k') ? 1e3 : word.endsWith('m') ? 1e6 : 1);
    return number < largestCount ? number : undefined;
  }
  const index = smallNumbers.indexOf(word);
  return index < 0 ? undefined : index + 1;
}

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

const namesKept = 20_000;
const stemsByName = new LRUCache<string, readonly string[]>({ max: namesKept });

/** The words of a name such as `purchase_orders` or `OrderLines`, stemmed. Each question asks for those of all columns several times. */
export function stemsOfName(name: string): readonly string[] {
  const known = stemsByName.get(name);
  if (known) return known;
  const stems = name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .map(stemOf);
  stemsByName.set(name, stems);
  return stems;
}

/** A name of the data as a reader would say it. */
export const toWords = (name: string): string => name.replaceAll(/[_.]/g, ' ');

export const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

const irregular = new Map(
  Object.entries({
    paid: 'pay',
    payment: 'pay',
    sold: 'sell',
    bought: 'order',
    buy: 'order',
    spent: 'spend',
    sent: 'send',
    receipt: 'receiv',
    admission: 'admit',
    arriv: 'receiv',
    hire: 'hir',
    join: 'hir',
    employ: 'hir',
    beginn: 'start',
    begin: 'start',
    invoic: 'issu',
    ship: 'ship',
    due: 'due',
    purchas: 'order',
    placed: 'order',
    plac: 'order',
    purchase: 'order',
    sign: 'register',
    fall: 'due',
    left: 'left',
    quit: 'left',
    leaver: 'left',
    leav: 'left',
    birth: 'birth',
    prescription: 'prescrib',
    deliver: 'deliver',
    approv: 'approv',
    new: 'creat',
    plan: 'schedul',
    serv: 'hir',
    won: 'creat',
    win: 'creat',
  }),
);

/** The root that forms of a verb share: `shipped`, `shipping` and `shipment` have `ship`. */
export function rootOf(word: string): string {
  const known = irregular.get(word);
  if (known !== undefined) return known;
  const bare = word.replace(/(ments?|ing|ed|es|s|e)$/, '').replace(/([^aeiouls])\1$/, '$1');
  return irregular.get(bare) ?? (bare.length >= 3 ? bare : word);
}
