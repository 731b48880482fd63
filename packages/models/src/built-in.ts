import { answerQuestion } from '@agent-service/analyst';
import type { AnswerOptions, ModelAnswer, ModelRequest, Provider } from './contract/models.ts';
import { cleanText, estimateTokens } from './prompt/text.ts';

const longestPiece = 80;

/** The analyst as a provider: it answers where no language model is configured, and in the `test` environment. */
export const builtInProvider: Provider = {
  async answer(request: ModelRequest, { signal, onDelta }: AnswerOptions): Promise<ModelAnswer> {
    signal.throwIfAborted();
    const { message, history, output, tools } = request;
    const earlier = history.filter(({ role }) => role === 'user').map(({ content }) => content);
    const content = cleanText(await answerQuestion({ message, earlier, output, tools }, signal));
    signal.throwIfAborted();
    if (request.stream) for (const piece of piecesOf(content)) onDelta(piece);
    return { content, inputTokens: inputTokens(request), outputTokens: estimateTokens(content), endpoint: 'built-in' };
  },
};

/** The tokens that a language model would have read. */
const inputTokens = ({ instructions, context, history, message }: ModelRequest): number =>
  [instructions, context, ...history.map(({ content }) => content), message].reduce((sum, text) => sum + estimateTokens(text), 0);

/** No piece ends within a character. */
const piecesOf = (content: string): string[] => content.match(new RegExp(`[\\s\\S]{1,${longestPiece}}`, 'gu')) ?? [];
