/** Text that every store and protocol takes: no NUL, no half of a surrogate pair. */
export const cleanText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

export interface TextCleaner {
  /** What can be passed on now; half a character waits for its other half. */
  push(piece: string): string;
  /** What is left at the end. */
  flush(): string;
}

/** Cleans a text that comes in pieces; together they are what `cleanText` makes of the whole. */
export function textCleaner(): TextCleaner {
  let half = '';
  return {
    push(piece) {
      const text = (half + piece).replaceAll('\0', '');
      const cut = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
      half = text.slice(cut);
      return text.slice(0, cut).toWellFormed();
    },
    flush: () => half.toWellFormed(),
  };
}
