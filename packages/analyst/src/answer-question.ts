import { analyse } from './analyst.ts';
import { type Tool, toolData } from './data/tool-data.ts';
import { fenced, type Output, type Reply, told } from './presentation.ts';

/** Ends every answer, so that no reader takes it for a language model's. */
export const signature = 'Answered by the built-in model; no language model is configured.';

const longestMessage = 4_000;

export interface Question {
  readonly message: string;
  /** The same user's earlier messages, oldest first. */
  readonly earlier: readonly string[];
  readonly output: Output;
  readonly tools: readonly Tool[];
}

/** Answers a question about the tables that the tools give access to, without a language model, and says so. */
export async function answerQuestion({ message, earlier, output, tools }: Question, signal: AbortSignal): Promise<string> {
  const data = toolData(tools, signal);
  const reply = data
    ? await analyse({ message: cut(message), earlier: earlier.map(cut), output }, data)
    : told('No business data is connected to this agent, so there is nothing to look up.');
  return signed(reply, output.format);
}

const cut = (message: string): string => message.slice(0, longestMessage);

/** An answer in JSON is one block and nothing else. */
const signed = ({ text, members }: Reply, format: Output['format']): string =>
  format === 'json' ? fenced('json', { ...members, model: 'built-in', note: signature }) : `${text}\n\n${signature}`;
