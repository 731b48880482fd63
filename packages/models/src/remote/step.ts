import { processClock } from '@agent-service/runtime';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { InvalidResponseDataError } from '@ai-sdk/provider';
import { cleanText, textCleaner } from '../prompt/clean-text.ts';
import { classifyStreamed } from './classify.ts';
import { ModelFailure } from './failure.ts';

/** What one call of a model came to. */
export interface Step {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly LanguageModelV4ToolCall[];
  readonly finish: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
}

export interface StepListener {
  /** Text came. */
  onText(text: string): void;
  /** Anything came that shows the model at work. */
  onProgress(): void;
}

/** What an answer may be at most, in characters: beyond any length that models are asked for. */
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

/** Puts the parts of a stream together; a stream that ends before its finish was cut. */
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

/** A stream whose end came without the provider's word was cut; the SDK calls that an invalid response. */
function streamedFailure(error: unknown): ModelFailure {
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return new ModelFailure('cut');
  return classifyStreamed(error, processClock.now());
}
