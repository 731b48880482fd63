/** One word of a question. */
export interface Word {
  readonly text: string;
  readonly lower: string;
  readonly stem: string;
}

/** Words, numbers and dates of a text, in order; other characters are ignored. `order_date` is two words. */
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

/** The index at which these stems follow each other, or -1. */
export function indexOfStems(words: readonly Word[], stems: readonly string[], from = 0): number {
  for (let start = from; start + stems.length <= words.length; start += 1)
    if (stems.every((stem, index) => words[start + index]?.stem === stem)) return start;
  return -1;
}

export const has = (words: readonly Word[], ...phrases: readonly string[]): boolean =>
  phrases.some((phrase) => indexOfStems(words, phrase.split(' ').map(stemOf)) >= 0);

const wordsIn = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/** Words of grammar and of questions, which name no data. */
const asking = wordsIn(`
  a an the of in on for by per and or to at as is are was were be been being do does did done have has had having with from into than then
  how many much what what's whats which who whom whose when where there here it its this that these those they them their he she his her
  i i'd i'm we us our ours you your my me mine please can could would should will shall may might let's let want like need needs know
  show list display give tell find see get got gets getting look fetch provide return report overview summary breakdown break split group
  grouped about all any some each every across overall altogether only
  just also now so far currently still yet right ever up down out off over under above below exceeding more less fewer greater higher
  lower larger least most at total sum amount number count counts average avg mean typical max maximum min minimum top bottom best worst
  highest lowest largest biggest smallest longest shortest greatest cheapest fewest strongest slowest priciest first last next past previous current
  coming upcoming newest latest oldest earliest recent recently often rank ranked ranking sort sorted descending ascending company business today yesterday tomorrow day week month
  quarter year daily weekly monthly quarterly yearly annual annually ytd date since before after until during through ago time period
  ok okay hey hi hello well same thing things kind of value values data figure figures result results entries entry records record rows row
  make makes made took take taken place placed come came go goes went happen happened happening say says exist exists generate generated
  work works had worth use used using one ones bring brings brought contribute contributes contributed`);

/** Negations. An answer that does not apply one would be wrong. */
const negation =
  /^(not?|nor|non|no(ne|body|thing)|never|without|except|excluding|excludes?|neither|(is|are|was|were|have|has|had|do|does|did|wo)n't|cannot|can't)$/;

/**
 * Words that restrict the answer as part of a phrase. Outside of a phrase that was understood they are reported as not understood.
 */
const bearing = wordsIn(`
  between before after since until over under above below exceeding than through ago first last past previous next coming upcoming earlier
  day days week weeks month months quarter quarters year years yesterday tomorrow annual annually daily weekly monthly quarterly yearly ytd or same`);

/** Words that do not change the meaning of a question. */
const colouring = wordsIn(`
  actually exactly precisely approximately approx roughly about basically really simply quickly briefly kindly maybe perhaps possibly
  hopefully honestly thanks thank cheers dear again too
  splendid great wonderful amazing impressive fantastic lovely nice beautiful glorious`);

/** `different customers` are each counted once. */
export const countsOnce: ReadonlySet<string> = wordsIn('distinct unique different separate individual');

const plain = (word: Word) => word.lower.replaceAll('’', "'");

export const isNegation = (word: Word): boolean => negation.test(plain(word));

export const isAsking = (word: Word): boolean => asking.has(plain(word)) || asking.has(word.stem);

export const isBearing = (word: Word): boolean => bearing.has(plain(word));

export const isColouring = (word: Word): boolean => colouring.has(plain(word));

/** Small talk, and questions about the answerer. */
const talk =
  /^\W*(hi|hello|hey|hallo|good (morning|afternoon|evening|day)|thanks|thank you|cheers|help|help me|what can (you|i) (do|ask)|what do you (do|know|understand)|who are you|what are you|how does this work|how can you help|(what|which) (data|tables) (do you have|are there|is there|can you see)|what can you (tell|show) me)\b/i;

export const isTalk = (text: string, words: readonly Word[]): boolean => words.length <= 8 && talk.test(text);

const subjects = new Set(['customer', 'client', 'buyer']);
const verbs = new Set(['ordered', 'bought', 'purchased']);
/** `customers in Germany who have ordered`, but `customers for whom desks were ordered` is another thing. */
const between = new Set('who that which have has had we our also ever actually and'.split(' '));

/** Replaces a verb by its table: `customers ordered` refers to orders. */
export function replaceVerbs(words: readonly Word[]): readonly Word[] {
  return words.map((word, at) => (verbs.has(word.lower) && followsSubject(words, at) ? { ...word, stem: stemOf('orders') } : word));
}

function followsSubject(words: readonly Word[], at: number): boolean {
  let before = at - 1;
  while (before >= 0 && between.has(words[before]?.lower ?? '')) before -= 1;
  return subjects.has(words[before]?.stem ?? '');
}
