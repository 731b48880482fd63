const ellipsis = '…';
const encoder = new TextEncoder();
const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The text, or as many of its characters as fit before an ellipsis. */
export function cut(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  const room = Math.max(0, maxBytes - bytesOf(ellipsis));
  // The encoder writes only whole characters.
  const { read } = encoder.encodeInto(text, new Uint8Array(room));
  return `${text.slice(0, read)}${ellipsis}`;
}

/** A message and its answer within the limit: the longer one gets the part of the other's half that is not needed. */
export function cutExchange<Turn extends { readonly content: string }>(turns: readonly Turn[], maxBytes: number): Turn[] {
  const half = Math.floor(maxBytes / Math.max(1, turns.length));
  const used = turns.reduce((sum, { content }) => sum + Math.min(half, bytesOf(content)), 0);
  const longer = turns.filter(({ content }) => bytesOf(content) > half).length;
  const spare = Math.floor((maxBytes - used) / Math.max(1, longer));
  return turns.map((turn) => ({ ...turn, content: cut(turn.content, half + (bytesOf(turn.content) > half ? spare : 0)) }));
}
