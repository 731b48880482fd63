/** The first characters of a text, counted by code points, of which each has at most two UTF-16 units. */
export const firstCharacters = (value: string, max: number): string => [...value.slice(0, 2 * max)].slice(0, max).join('');

/** As many of a text's first characters as fit into these bytes of UTF-8. */
export function firstBytes(value: string, maxBytes: number): string {
  if (Buffer.byteLength(value) <= maxBytes) return value;
  // The encoder writes only whole characters.
  const { read } = new TextEncoder().encodeInto(value, new Uint8Array(maxBytes));
  return value.slice(0, read);
}

/**
 * Text without differences in case. It folds one letter at a time, so that every part of a text folds to a part of the folded text.
 * Lower case comes first: the capital sharp s has no other capital, and only the small one becomes two letters.
 */
export const foldCase = (text: string): string => Array.from(text.normalize('NFC'), foldLetter).join('');

// A Greek letter with two marks has several letters as its capital, which are composed as the text's own are.
const foldLetter = (letter: string): string => letter.toLowerCase().toUpperCase().normalize('NFC').toLowerCase();
