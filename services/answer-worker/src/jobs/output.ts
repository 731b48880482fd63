import type { Output } from '@agent-service/models';

const formats: readonly Output['format'][] = ['markdown', 'table', 'text', 'json'];

/** How the agent's answers are to look; markdown without charts where nothing is said. A form that has no place for charts goes first. */
export function outputOf(preferences: { defaultFormat: string; chartEnabled: boolean } | null | undefined): Output {
  const format = formats.find((known) => known === preferences?.defaultFormat) ?? 'markdown';
  if (format === 'text' || format === 'json') return { format, charts: false };
  return { format, charts: preferences?.chartEnabled ?? false };
}

/** Only plain text is not to be rendered. */
export const contentTypeOf = ({ format }: Output): 'text' | 'markdown' => (format === 'text' ? 'text' : 'markdown');
