import { fencedBlock } from '@agent-service/contracts/text';

const fence = '```';
const opening = /```(?:json)?[ \t]*\n/i;
const closing = /^[ \t]*```/;

/** JSON, alone or in a block within other text, as one fenced block; undefined for any other text. */
export function toJsonBlock(text: string): string | undefined {
  const json = [text, fencedBlock(text, opening, closing)].map((one) => one?.trim()).find((one) => one !== undefined && isJson(one));
  return json === undefined ? undefined : `${fence}json\n${json}\n${fence}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
