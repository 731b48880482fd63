import type { AnswerOptions, ModelAnswer, ModelRequest, Output, Provider } from '../models.ts';
import { cleanText } from '../prompt/clean-text.ts';
import { estimateTokens } from '../prompt/tokens.ts';
import { analyse } from './analyst/analyst.ts';
import { fenced, type Reply, told } from './analyst/presentation.ts';
import { toolData } from './data/tool-data.ts';

/** What every answer ends with, so that nobody takes it for a language model's. */
export const signature = 'Answered by the built-in model; no language model is configured.';

const longestMessage = 4_000;
const longestPiece = 80;

/** Answers simple questions about the organization's tables without any language model and says so. */
export const builtInProvider: Provider = {
  async answer(request: ModelRequest, { signal, onDelta }: AnswerOptions): Promise<ModelAnswer> {
    signal.throwIfAborted();
    const content = cleanText(signed(await replyTo(request, signal), request.output.format));
    signal.throwIfAborted();
    if (request.stream) for (const piece of piecesOf(content)) onDelta(piece);
    return { content, inputTokens: inputTokens(request), outputTokens: estimateTokens(content), endpoint: 'built-in' };
  },
};

/** Whoever asks for JSON gets nothing beside it. */
const signed = ({ text, members }: Reply, format: Output['format']): string =>
  format === 'json' ? fenced('json', { ...members, model: 'built-in', note: signature }) : `${text}\n\n${signature}`;

async function replyTo({ tools, message, history, output }: ModelRequest, signal: AbortSignal): Promise<Reply> {
  const data = toolData(tools, signal);
  if (!data) return told('No business data is connected to this agent, so there is nothing to look up.');
  const earlier = history.filter(({ role }) => role === 'user').map(({ content }) => content.slice(0, longestMessage));
  return await analyse({ message: message.slice(0, longestMessage), earlier, output }, data);
}

/** What a language model would have read. */
const inputTokens = ({ instructions, context, history, message }: ModelRequest): number =>
  [instructions, context, ...history.map(({ content }) => content), message].reduce((sum, text) => sum + estimateTokens(text), 0);

/** No piece ends within a character. */
const piecesOf = (content: string): string[] => content.match(new RegExp(`[\\s\\S]{1,${longestPiece}}`, 'gu')) ?? [];
