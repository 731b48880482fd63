/**
 * Text without differences in case. It folds one letter at a time, so that every part of a text folds to a part of the folded text.
 * Lower case comes first: the capital sharp s has no other capital, and only the small one becomes two letters.
 */
export const foldCase = (text: string): string => Array.from(text.normalize('NFC'), foldLetter).join('');

// A Greek letter with two marks has several letters as its capital, which are composed as the text's own are.
const foldLetter = (letter: string): string => letter.toLowerCase().toUpperCase().normalize('NFC').toLowerCase();
