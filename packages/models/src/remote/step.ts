import { processClock } from '@agent-service/runtime';
import {
  InvalidResponseDataError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4FinishReason,
  type LanguageModelV4StreamPart,
  type LanguageModelV4ToolCall,
  type LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { cleanText, estimateTokens, textCleaner } from '../prompt.ts';
import { classifyStreamed, ModelFailure } from './failure.ts';

/** The result of one call of a model. */
export interface Step {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly LanguageModelV4ToolCall[];
  readonly finish: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
}

interface StepListener {
  /** A piece of text. */
  onText(text: string): void;
  /** Any part of the stream. */
  onProgress(): void;
}

/** The longest answer in characters, above any length that models are asked for. */
const longestText = 1_000_000;

export async function generateStep(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<Step> {
  const { content, finishReason, usage } = await model.doGenerate(options);
  const text = cleanText(textOf(content, 'text'));
  if (text.length > longestText) throw new ModelFailure('too_large');
  const calls = content.filter((part) => part.type === 'tool-call');
  return { text, reasoning: textOf(content, 'reasoning'), calls, finish: finishReason, usage };
}

const textOf = (content: readonly LanguageModelV4Content[], type: 'text' | 'reasoning') =>
  content.map((part) => (part.type === type ? part.text : '')).join('');

export async function streamStep(model: LanguageModelV4, options: LanguageModelV4CallOptions, listener: StepListener): Promise<Step> {
  const { stream } = await model.doStream(options);
  const collector = collect(listener);
  for await (const part of stream) collector.take(part);
  return collector.step();
}

/** Collects the parts of a stream. A stream without its finish part was cut off. */
function collect({ onText, onProgress }: StepListener) {
  const cleaner = textCleaner();
  const calls: LanguageModelV4ToolCall[] = [];
  let text = '';
  let reasoning = '';
  let finished: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined;

  function pass(piece: string): void {
    if (piece === '') return;
    text += piece;
    if (text.length > longestText) throw new ModelFailure('too_large');
    onText(piece);
  }

  function take(part: LanguageModelV4StreamPart): void {
    onProgress();
    if (part.type === 'text-delta') pass(cleaner.push(part.delta));
    else if (part.type === 'reasoning-delta') reasoning += part.delta;
    else if (part.type === 'tool-call') calls.push(part);
    else if (part.type === 'finish') finished = part;
    else if (part.type === 'error') throw streamedFailure(part.error);
  }

  function step(): Step {
    if (!finished || ['error', 'interrupted'].includes(finished.finishReason.unified)) throw new ModelFailure('cut');
    pass(cleaner.flush());
    return { text, reasoning, calls, finish: finished.finishReason, usage: finished.usage };
  }

  return { take, step };
}

/** The SDK reports a stream that was cut off as an invalid response without data. */
function streamedFailure(error: unknown): ModelFailure {
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return new ModelFailure('cut');
  return classifyStreamed(error, processClock.now());
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const mostTokens = 1_000_000_000;

/** Adds the tokens of a step: the provider's count where it is plausible, an estimate otherwise. */
export function addUsage(sum: Usage, { usage, text, reasoning, calls }: Step, promptTokens: number): Usage {
  const output = [text, reasoning, ...calls.map(({ toolName, input }) => toolName + input)].join('');
  return {
    inputTokens: sum.inputTokens + counted(usage.inputTokens, promptTokens),
    outputTokens: sum.outputTokens + counted(usage.outputTokens, estimateTokens(output)),
  };
}

/** A prompt or an answer always has tokens, so 0 means that the provider did not count. */
function counted({ total }: LanguageModelV4Usage['inputTokens'] | LanguageModelV4Usage['outputTokens'], estimate: number): number {
  return total !== undefined && Number.isSafeInteger(total) && total > 0 && total <= mostTokens ? total : estimate;
}
