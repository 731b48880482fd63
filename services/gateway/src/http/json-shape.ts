import { ServiceError } from '@agent-service/contracts';

/** Deeper than any body means something, and shallow enough for code that walks a value by recursion. */
const maxDepth = 64;

const quote = 0x22;
const backslash = 0x5c;

/** By byte: whether it sets a name or value apart from the next, and by how much the nesting changes there. */
const separators = new Uint8Array(256);
for (const character of ',:') separators[character.charCodeAt(0)] = 1;
const nesting = new Int8Array(256);
for (const character of '[{') nesting[character.charCodeAt(0)] = 1;
for (const character of ']}') nesting[character.charCodeAt(0)] = -1;

/**
 * Counts names, values and nesting in one pass over the bytes, and refuses what has too many before a parser makes objects of it.
 * Whether it is JSON at all is the parser's to say.
 */
export function checkJsonShape(json: Uint8Array, maxValues: number): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (byte === quote) at = endOfText(json, at);
    values += separators[byte] as number;
    depth += nesting[byte] as number;
    if (values > maxValues) throw refused(`holds more than ${maxValues} names and values`);
    if (depth > maxDepth) throw refused(`is nested deeper than ${maxDepth} levels`);
  }
}

const refused = (fault: string) => new ServiceError('invalid_request', { message: `The body ${fault}.` });

/** Where the text that begins here ends. */
function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
