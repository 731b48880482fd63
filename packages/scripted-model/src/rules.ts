import type { ChatRequest, ModelReply } from './reply.ts';
import type { ModelScript } from './server.ts';

/** A reply as data, so that it can be sent to a model that runs in a container. */
export interface ModelRule {
  /** The rule is for requests whose last message contains this text; for every request unless set. */
  readonly when?: string;
  /** A text, or any other reaction, such as tool calls or a failure. */
  readonly reply: string | ModelReply;
  /** How often the rule is used; without a limit unless set. */
  readonly times?: number;
}

/** The first rule that fits answers; a request without one gets a failure that says so. */
export function scriptOf(rules: readonly ModelRule[]): ModelScript {
  const left = rules.map(({ times = Number.POSITIVE_INFINITY }) => times);
  return (request) => {
    const text = lastText(request);
    const index = rules.findIndex(({ when = '' }, position) => (left[position] ?? 0) > 0 && text.includes(when));
    const rule = rules[index];
    if (!rule) return { kind: 'failure', status: 400, message: `no rule of the scripted model fits: ${text.slice(0, 200)}` };
    left[index] = (left[index] ?? 0) - 1;
    return typeof rule.reply === 'string' ? { kind: 'text', text: rule.reply } : rule.reply;
  };
}

function lastText({ messages }: ChatRequest): string {
  const content = messages.at(-1)?.content;
  return typeof content === 'string' ? content : JSON.stringify(content ?? '');
}
