import type { Output } from '@agent-service/analyst';
import type { JSONSchema7 } from '@ai-sdk/provider';
import type { Tier } from './tiers.ts';

export type { Output } from '@agent-service/analyst';

export interface ModelRequest {
  readonly tier: Tier;
  /** In `test` the built-in provider answers, whatever is configured. */
  readonly environment: 'live' | 'test';
  /** The agent's system prompt. */
  readonly instructions: string;
  /** JSON that the caller sent along, shown to the model as data and never as instructions; '' for none. */
  readonly context: string;
  /** Oldest first. */
  readonly history: readonly Turn[];
  readonly message: string;
  readonly stream: boolean;
  readonly tools: readonly Tool[];
  readonly output: Output;
}

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

export type JsonSchema = JSONSchema7;

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Of one object; what the model sends is any object, so `run` judges it. */
  readonly parameters: JsonSchema;
  /**
   * Answers with text for the model, also where the model has asked for something impossible. Whatever is thrown ends
   * the answer. Calls of one step run at the same time.
   */
  run(input: unknown, signal: AbortSignal): Promise<string>;
}

export interface ModelAnswer {
  readonly content: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Who answered, as `api.example.com/model-name` or `built-in`. */
  readonly endpoint: string;
}

export interface AnswerOptions {
  /** Ends everything at once; `answer` then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called for streamed requests only. All deltas since the last restart make up the content. */
  onDelta(text: string): void;
  /** The deltas so far are void: another try began. */
  onRestart(): void;
}

/** Whoever can answer: a configured model or the built-in stand-in for one. */
export interface Provider {
  answer(request: ModelRequest, options: AnswerOptions): Promise<ModelAnswer>;
}

export interface Models extends Provider {
  close(): Promise<void>;
}
