import type { Turn } from '../models.ts';
import { estimateTokens } from './tokens.ts';

/** What a provider adds around each message for its role. */
const tokensPerMessage = 4;

export const messageTokens = (content: string): number => estimateTokens(content) + tokensPerMessage;

/**
 * The newest exchanges that fit, oldest first. An exchange is what the user said with all the answers to it and stays whole,
 * so what is left never begins with an answer. Messages without text are left out: providers refuse them.
 */
export function fitHistory(history: readonly Turn[], tokens: number): Turn[] {
  const kept: Turn[][] = [];
  let room = tokens;
  for (const exchange of exchangesOf(history).reverse()) {
    room -= exchange.reduce((sum, { content }) => sum + messageTokens(content), 0);
    if (room < 0) break;
    kept.push(exchange);
  }
  return kept.reverse().flat();
}

function exchangesOf(history: readonly Turn[]): Turn[][] {
  const exchanges: Turn[][] = [];
  for (const turn of history) {
    if (turn.content.trim() === '') continue;
    if (turn.role === 'user') exchanges.push([turn]);
    else exchanges.at(-1)?.push(turn);
  }
  return exchanges;
}
