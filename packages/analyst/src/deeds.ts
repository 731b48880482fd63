import { stemOf, type Word } from './words.ts';

const doers = new Set(['customer', 'client', 'buyer']);
const deeds = new Set(['ordered', 'bought', 'purchased']);
/** `customers in Germany who have ordered`, but `customers for whom desks were ordered` is another thing. */
const between = new Set('who that which have has had we our also ever actually and'.split(' '));

/** What customers ordered are orders: the verb stands for the table of what was done. */
export function withDeeds(words: readonly Word[]): readonly Word[] {
  return words.map((word, at) => (deeds.has(word.lower) && isOfDoers(words, at) ? { ...word, stem: stemOf('orders') } : word));
}

function isOfDoers(words: readonly Word[], at: number): boolean {
  let before = at - 1;
  while (before >= 0 && between.has(words[before]?.lower ?? '')) before -= 1;
  return doers.has(words[before]?.stem ?? '');
}
