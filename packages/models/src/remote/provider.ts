import type { AnswerOptions, ModelAnswer, ModelRequest, Provider } from '../models.ts';
import type { TierModels } from '../models-file.ts';
import { buildPrompt, bytesOfTokens, estimateDataTokens, estimateTokens, messageTokens, tokensPerMessage } from '../prompt.ts';
import type { ChatMessage, ModelOutput } from './chat.ts';
import type { RemoteEndpoint } from './endpoint.ts';
import { toJsonBlock } from './json.ts';
import { type Conditions, createRoute } from './route.ts';
import { runTools } from './tools.ts';

interface RemoteProviderOptions {
  readonly tier: Pick<TierModels, 'contextTokens' | 'maxOutputTokens'>;
  readonly endpoints: readonly RemoteEndpoint[];
  /** Calls of the model in one answer; at the last of them it has to answer. */
  readonly maxModelCalls: number;
  readonly conditions: Conditions;
}

/** The part of the room for the prompt that one result of a tool may use. A conversation leaves it free for the first result. */
const resultShare = 1 / 4;
/** With less of the room left the model has to answer: results would be too short to be of use. */
const minFreeShare = 1 / 8;

/** Answers with the models of a tier, in several calls of a model where it uses tools. A failure repeats one call, never the tools of those before. */
export function remoteProvider(options: RemoteProviderOptions): Provider {
  return {
    async answer(request, answerOptions) {
      answerOptions.signal.throwIfAborted();
      try {
        return await answer(options, request, answerOptions);
      } catch (cause) {
        answerOptions.signal.throwIfAborted();
        throw cause;
      }
    },
  };
}

async function answer(
  options: RemoteProviderOptions,
  request: ModelRequest,
  { signal, onDelta, onRestart }: AnswerOptions,
): Promise<ModelAnswer> {
  const { tier, endpoints, maxModelCalls, conditions } = options;
  const { tools, stream } = request;
  const toolTokens = tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0;
  const room = tier.contextTokens - tier.maxOutputTokens - toolTokens - (tools.length > 0 ? messageTokens(answerNow) : 0);
  const prompt = buildPrompt(request, tools.length > 0 ? room * (1 - resultShare) : room);
  const messages: ChatMessage[] = [...prompt.messages];
  const route = createRoute(request.tenant, endpoints, conditions);
  const json = request.output.format === 'json';
  const transcript = json ? createJsonTranscript(stream ? onDelta : () => undefined) : createTranscript({ onDelta, onRestart });
  const listener = { signal, onText: transcript.add, onAttempt: transcript.begin };
  let size: PromptSize = { estimate: prompt.tokens, upperBound: prompt.tokens };
  let usage: Usage = { inputTokens: 0, outputTokens: 0 };

  for (let number = 1; ; number += 1) {
    const mustAnswer = number >= maxModelCalls || size.upperBound > room * (1 - minFreeShare);
    const sent = mustAnswer && tools.length > 0 ? demandAnswer(messages) : messages;
    const output = await route.call({ messages: sent, maxOutputTokens: tier.maxOutputTokens, tools, stream, mustAnswer, json }, listener);
    usage = addUsage(usage, output, size.estimate + toolTokens);
    transcript.finish(output.text);
    if (output.calls.length === 0 || mustAnswer)
      return { content: transcript.end(), ...usage, endpoint: route.endpoint, model: output.model };
    size = addOutput(correctSize(size, output.inputTokens, toolTokens), output);
    // A request that is larger than the model's context is refused as a whole.
    const resultTokens = Math.min(room * resultShare, (room - size.upperBound) / output.calls.length) - tokensPerMessage;
    const outcome = await runTools(tools, output, { signal, resultTokens });
    messages.push(...outcome.messages);
    size = outcome.results.reduce(addMessage, size);
  }
}

/** The tokens of a prompt without its tools. */
interface PromptSize {
  /** For the bill of a provider that does not count. */
  readonly estimate: number;
  /** The provider's count, and what was added since then at its largest. */
  readonly upperBound: number;
}

const addMessage = ({ estimate, upperBound }: PromptSize, content: string): PromptSize => ({
  estimate: estimate + messageTokens(content),
  upperBound: upperBound + estimateDataTokens(content) + tokensPerMessage,
});

/** Thoughts are sent back, and some providers leave them out of the prompt: the estimate for the bill does, too. */
function addOutput(size: PromptSize, { text, calls, thoughts }: ModelOutput): PromptSize {
  const { estimate, upperBound } = addMessage(size, text + JSON.stringify(calls));
  return { estimate, upperBound: upperBound + estimateDataTokens(JSON.stringify(thoughts)) };
}

/**
 * With the provider's count of the prompt. One of more tokens than bytes, or of less than a quarter of the estimate, counts something else; Cyrillic, Greek,
 * Arabic and Devanagari have a third of it.
 */
function correctSize({ estimate, upperBound }: PromptSize, count: unknown, toolTokens: number): PromptSize {
  const estimated = estimate + toolTokens;
  const isPossible = typeof count === 'number' && count >= estimated / 4 && count <= bytesOfTokens(estimated);
  return { estimate, upperBound: isPossible ? Math.max(estimate, count - toolTokens) : upperBound };
}

const answerNow = 'No more tools can be called. Answer now from what you have, and say what is missing.';

/**
 * Some servers ignore that no tool may be called, and others discard the calls of a model that does not know it. The last message says it, because
 * several providers refuse a further message behind results.
 */
function demandAnswer(messages: readonly ChatMessage[]): ChatMessage[] {
  return replaceLast(messages, (message) => {
    if (message.role === 'calls') return message;
    return message.role === 'results' ? { ...message, results: replaceLast(message.results, addDemand) } : addDemand(message);
  });
}

const addDemand = <Part extends { readonly content: string }>(part: Part): Part => ({
  ...part,
  content: `${part.content}\n\n${answerNow}`,
});

const replaceLast = <Item>(items: readonly Item[], replace: (item: Item) => Item): Item[] =>
  items.map((item, index) => (index === items.length - 1 ? replace(item) : item));

interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const maxTokens = 1_000_000_000;

/** Adds the tokens of a call: the provider's count where it is plausible, an estimate otherwise. */
function addUsage(sum: Usage, { inputTokens, outputTokens, text, reasoning, calls }: ModelOutput, promptTokens: number): Usage {
  const output = [text, reasoning, ...calls.map((call) => call.name + call.arguments)].join('');
  return {
    inputTokens: sum.inputTokens + plausible(inputTokens, () => promptTokens),
    outputTokens: sum.outputTokens + plausible(outputTokens, () => estimateTokens(output)),
  };
}

/** A prompt or an answer always has tokens, so 0 means that the provider did not count. */
function plausible(count: unknown, estimate: () => number): number {
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 && count <= maxTokens ? count : estimate();
}

const betweenOutputs = '\n\n';

/** The text of an answer, from all outputs of the model; always equal to what a reader of its deltas has. */
interface Transcript {
  /** A call of the model begins; the unfinished text of a failed call is void. */
  begin(): void;
  add(text: string): void;
  /** The output has ended; its text is final. */
  finish(text: string): void;
  /** The answer has ended; returns its text. */
  end(): string;
}

function createTranscript({ onDelta, onRestart }: Pick<AnswerOptions, 'onDelta' | 'onRestart'>): Transcript {
  let finished = '';
  let current = '';

  const lead = () => (finished !== '' && current === '' ? betweenOutputs : '');

  return {
    begin() {
      if (current === '') return;
      current = '';
      onRestart();
      if (finished !== '') onDelta(finished);
    },
    add(text) {
      const delta = lead() + text;
      current += delta;
      onDelta(delta);
    },
    finish(text) {
      if (text === '') return;
      finished += current === '' ? lead() + text : current;
      current = '';
    },
    end: () => finished,
  };
}

/** The text of the last output, as one JSON block. A reader gets it whole, since no part of it can be parsed. */
function createJsonTranscript(onDelta: (text: string) => void): Transcript {
  let last = '';
  return {
    begin: () => undefined,
    add: () => undefined,
    finish(text) {
      if (text !== '') last = text;
    },
    end() {
      const block = toJsonBlock(last) ?? last;
      onDelta(block);
      return block;
    },
  };
}
