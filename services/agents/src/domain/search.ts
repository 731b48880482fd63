import type { Tenant } from './tenant.ts';

const longestGram = 3;
/** The text is compared with what was searched in the end; more of its grams would only cost. */
const mostNeeded = 32;

/**
 * Text in which letters differ no more in case. A letter at a time, so that a letter's form never depends on its neighbours and
 * every part of a text folds to a part of the folded text.
 */
export const fold = (text: string): string => Array.from(text.normalize('NFC'), (letter) => letter.toUpperCase().toLowerCase()).join('');

/**
 * What the index knows of an agent's folded texts: all their runs of one, two and three characters, as numbers that depend on the
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
  const length = Math.min(longestGram, [...foldedSearch].length);
  const grams = [...new Set(runs(foldedSearch, length).map((gram) => hash(start, gram)))];
  const step = Math.max(1, grams.length / mostNeeded);
  return Array.from({ length: Math.min(grams.length, mostNeeded) }, (_, index) => grams[Math.floor(index * step)] as number);
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
