import type { Tenant } from '../../shared/tenant.ts';

/** Grams of four characters span two words, so that common words in a rare order have rare grams. */
const longestGram = 4;
/** Matches of these grams are compared with the search text; a further gram would cost more than the matches it excludes. */
const maxNeeded = 12;
/** With this many rare grams, common ones are not needed. */
const enoughRare = 4;

/**
 * Text without differences in case. It folds one letter at a time, so that every part of a text folds to a part of the folded text.
 * Lower case comes first: the capital sharp s has no other capital, and only the small one becomes two letters.
 */
export const fold = (text: string): string => Array.from(text.normalize('NFC'), foldLetter).join('');

// A Greek letter with two marks has several letters as its capital, which are composed as the text's own are.
const foldLetter = (letter: string): string => letter.toLowerCase().toUpperCase().normalize('NFC').toLowerCase();

/**
 * The index of an agent's folded texts: every run of one to four characters, hashed together with the tenant. A search therefore reads
 * no rows of other tenants, a short search is as exact as a long one, and the database needs no extension.
 */
export function gramsOf(tenant: Tenant, ...folded: readonly string[]): number[] {
  const start = seedOf(tenant);
  const grams = new Set<number>();
  for (const text of folded) {
    for (let length = 1; length <= longestGram; length += 1) for (const gram of runs(text, length)) grams.add(hash(start, gram));
  }
  return [...grams];
}

/** Grams that every match has. Rows with all of them must still be compared with the search text. */
export function gramsNeeded(tenant: Tenant, foldedSearch: string): number[] {
  const start = seedOf(tenant);
  const all = [...new Set(runs(foldedSearch, Math.min(longestGram, [...foldedSearch].length)))];
  const rare = selectEvenly(all.filter(isRare), maxNeeded);
  const common = rare.length >= enoughRare ? [] : all.filter((gram) => !isRare(gram));
  return [...rare, ...selectEvenly(common, maxNeeded - rare.length)].map((gram) => hash(start, gram));
}

/** Digits and the gaps between words are rarer than the letters inside words. */
const isRare = (gram: string): boolean => /\d|\S\s+\S/.test(gram);

/** At most so many grams, from the whole length. */
function selectEvenly(grams: readonly string[], max: number): string[] {
  const step = Math.max(1, grams.length / max);
  return grams.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

function runs(text: string, length: number): string[] {
  const letters = [...text];
  return Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, first) => letters.slice(first, first + length).join(''));
}

const seedOf = ({ organizationId, environment }: Tenant): number => hash(0x811c9dc5, `${organizationId}\0${environment}\0`);

/** FNV-1a over UTF-16 units with a final mix, as a signed number of 32 bits. */
function hash(start: number, text: string): number {
  let mixed = start;
  for (let index = 0; index < text.length; index += 1) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) | 0;
}
