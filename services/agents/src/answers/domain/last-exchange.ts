const ellipsis = '…';
const encoder = new TextEncoder();
const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The text, or as many of its characters as fit with a mark that there was more. */
export function cut(text: string, mostBytes: number): string {
  if (bytesOf(text) <= mostBytes) return text;
  const room = Math.max(0, mostBytes - bytesOf(ellipsis));
  // Nothing is written of a character that does not fit as a whole.
  const { read } = encoder.encodeInto(text, new Uint8Array(room));
  return `${text.slice(0, read)}${ellipsis}`;
}

/** A question and its answer within the limit together: the shorter gives the longer what it does not need of its half. */
export function cutExchange<Turn extends { readonly content: string }>(turns: readonly Turn[], mostBytes: number): Turn[] {
  const half = Math.floor(mostBytes / Math.max(1, turns.length));
  const taken = turns.reduce((sum, { content }) => sum + Math.min(half, bytesOf(content)), 0);
  const longer = turns.filter(({ content }) => bytesOf(content) > half).length;
  const spare = Math.floor((mostBytes - taken) / Math.max(1, longer));
  return turns.map((turn) => ({ ...turn, content: cut(turn.content, half + (bytesOf(turn.content) > half ? spare : 0)) }));
}
