/** Text that every store and protocol takes: no NUL, no half of a surrogate pair. */
export const cleanText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

interface TextCleaner {
  /** The text that can be passed on now; half a character waits for its other half. */
  push(piece: string): string;
  /** The rest at the end. */
  flush(): string;
}

/** Cleans a text that comes in pieces, with the same result as `cleanText` of the whole. */
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

const bytesPerToken = 3;

/**
 * How many tokens a text has at most, nearly always: tokenizers make one of 3.5 to 4.5 bytes of prose and of about 3 bytes
 * of code, JSON and most scripts other than Latin. An estimate that is too high forgets an old turn too early; one that
 * is too low has the whole request refused.
 */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** So many bytes are estimated as at most this number of tokens. */
export const bytesOfTokens = (tokens: number): number => Math.floor(tokens) * bytesPerToken;
