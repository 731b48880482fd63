import type { Output } from '@agent-service/models';

const formats: readonly Output['format'][] = ['markdown', 'table', 'text', 'json'];

/** The output that the agent prefers; markdown without charts where it has no preference. A format without charts overrides their preference. */
export function outputOf(preferences: { defaultFormat: string; chartEnabled: boolean } | null | undefined): Output {
  const format = formats.find((known) => known === preferences?.defaultFormat) ?? 'markdown';
  if (format === 'text' || format === 'json') return { format, charts: false };
  return { format, charts: preferences?.chartEnabled ?? false };
}

/** Clients render everything but plain text. */
export const contentTypeOf = ({ format }: Output): 'text' | 'markdown' => (format === 'text' ? 'text' : 'markdown');

const maxTokens = 2 ** 31 - 1;

/** In UTF-16 units. At three bytes each it still fits into a call. */
export const maxContentLength = 1_000_000;

/** A provider's count of tokens as an integer that the contract can carry. */
export function toTokenCount(tokens: number): number {
  return Number.isFinite(tokens) ? Math.min(maxTokens, Math.max(0, Math.ceil(tokens))) : 0;
}
