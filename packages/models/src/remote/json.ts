import { isWithinDepth, maxJsonDepth } from '@agent-service/contracts/json-values';
import { fencedBlock } from '@agent-service/contracts/text';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectsIn = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The value of a JSON text; undefined for text that is malformed, or nested too deep to be written again. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isWithinDepth(value, maxJsonDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}

const fence = '```';
const opening = /```(?:json)?[ \t]*\n/i;
const closing = /^[ \t]*```/;

/** JSON, alone or in a block within other text, as one fenced block; undefined for any other text. */
export function toJsonBlock(text: string): string | undefined {
  const json = [text, fencedBlock(text, opening, closing)]
    .map((one) => one?.trim())
    .find((one) => one !== undefined && parseJson(one) !== undefined);
  return json === undefined ? undefined : `${fence}json\n${json}\n${fence}`;
}
