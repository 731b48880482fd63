import type { Tenant } from '../../shared/tenant.ts';

/** Four reach over the gap between two words: common words in a rare order share no others. */
const longestGram = 4;
/** What is found by some grams is compared with the search itself; every further gram costs more than it keeps away. */
const mostNeeded = 12;
/** This many telling ones need no help. */
const enoughTelling = 4;

/**
 * Text in which letters differ no more in case. A letter at a time, so that a letter's form never depends on its neighbours and
 * every part of a text folds to a part of the folded text. Small letters first: the capital sharp s is its own capital, and only the
 * small one has the form of two letters.
 */
export const fold = (text: string): string => Array.from(text.normalize('NFC'), foldLetter).join('');

// A Greek letter with two marks has several letters as its capital, which are composed as the text's own are.
const foldLetter = (letter: string): string => letter.toLowerCase().toUpperCase().normalize('NFC').toLowerCase();

/**
 * What the index knows of an agent's folded texts: all their runs of one to four characters, as numbers that depend on the
 * tenant too. So a search touches nobody else's agents, a short one is as exact as a long one, and the database needs no extension.
 */
export function gramsOf(tenant: Tenant, ...folded: readonly string[]): number[] {
  const start = seedOf(tenant);
  const grams = new Set<number>();
  for (const text of folded) {
    for (let length = 1; length <= longestGram; length += 1) for (const gram of runs(text, length)) grams.add(hash(start, gram));
  }
  return [...grams];
}

/** Grams that every match has. Others may have them too, so whoever has them all is still to be compared. */
export function gramsNeeded(tenant: Tenant, foldedSearch: string): number[] {
  const start = seedOf(tenant);
  const all = [...new Set(runs(foldedSearch, Math.min(longestGram, [...foldedSearch].length)))];
  const telling = spread(all.filter(isTelling), mostNeeded);
  const others = telling.length >= enoughTelling ? [] : all.filter((gram) => !isTelling(gram));
  return [...telling, ...spread(others, mostNeeded - telling.length)].map((gram) => hash(start, gram));
}

/** Digits, and the end of one word with the beginning of the next: both are rarer than what is inside of words. */
const isTelling = (gram: string): boolean => /\d|\S\s+\S/.test(gram);

/** So many of them, from the whole length. */
function spread(grams: readonly string[], most: number): string[] {
  const step = Math.max(1, grams.length / most);
  return grams.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

function runs(text: string, length: number): string[] {
  const letters = [...text];
  return Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, first) => letters.slice(first, first + length).join(''));
}

const seedOf = ({ organizationId, environment }: Tenant): number => hash(0x811c9dc5, `${organizationId}\0${environment}\0`);

/** FNV-1a over UTF-16 units with a last stir, as a signed number of 32 bits. */
function hash(start: number, text: string): number {
  let mixed = start;
  for (let index = 0; index < text.length; index += 1) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) | 0;
}
