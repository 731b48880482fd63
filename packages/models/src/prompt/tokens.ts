const bytesPerToken = 3;

/**
 * How many tokens a text has at most, nearly always: tokenizers make one of 3.5 to 4.5 bytes of prose and of about 3 bytes
 * of code, JSON and most scripts other than Latin. An estimate that is too high forgets an old turn too early; one that
 * is too low has the whole request refused.
 */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** So many bytes are estimated as at most this number of tokens. */
export const bytesOfTokens = (tokens: number): number => Math.floor(tokens) * bytesPerToken;
