/** The agent's system prompt, and the format of its answers where that is not what models do by themselves. */
export function instructionsOf(systemPrompt: string, format: string): string {
  const ordinary = format === '' || format === 'markdown';
  return ordinary ? systemPrompt : `${systemPrompt}\n\nFormat of the answer: ${format}.`;
}
