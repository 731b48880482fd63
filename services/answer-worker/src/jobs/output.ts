import type { Output } from '@agent-service/models';

const formats: readonly Output['format'][] = ['markdown', 'table', 'text', 'json'];

/** How the agent's answers are to look; markdown without charts where nothing is said. */
export function outputOf(preferences: { defaultFormat: string; chartEnabled: boolean } | null | undefined): Output {
  const format = formats.find((known) => known === preferences?.defaultFormat) ?? 'markdown';
  return { format, charts: preferences?.chartEnabled ?? false };
}
