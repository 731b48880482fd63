import type { AnswerOptions, ModelAnswer, ModelRequest, Provider } from '../models.ts';
import { estimateTokens } from '../prompt/tokens.ts';

const longestQuote = 200;

/** Answers without any language model and says so. */
export const builtInProvider: Provider = {
  async answer(request: ModelRequest, { signal, onDelta }: AnswerOptions): Promise<ModelAnswer> {
    signal.throwIfAborted();
    const content = sentence(request.message);
    if (request.stream) onDelta(content);
    return {
      content,
      inputTokens: estimateTokens(request.message),
      outputTokens: estimateTokens(content),
      endpoint: 'built-in',
    };
  },
};

function sentence(message: string): string {
  return `No language model is configured for this agent, so there is no real answer. You asked: ${quote(message)}`;
}

/** On one line, no character cut in two. */
function quote(message: string): string {
  const line = [...message.replace(/\s+/g, ' ').trim()];
  return `“${line.length > longestQuote ? `${line.slice(0, longestQuote).join('')}…` : line.join('')}”`;
}
