import type { Output } from '@agent-service/analyst';
import type { Tier } from './models-file.ts';

export type { Output } from '@agent-service/analyst';

export interface ModelRequest {
  readonly tier: Tier;
  /** In `test` the built-in provider answers, under any configuration. */
  readonly environment: 'live' | 'test';
  /** The agent's system prompt. */
  readonly instructions: string;
  /** The rest of the instructions but the format of the answer, in at most this many bytes: the date, the data. */
  readonly facts?: (maxBytes: number) => string;
  /** JSON from the caller, given to the model as data and never as instructions; '' for none. */
  readonly context: string;
  /** Who asks: questions of one tenant share its probe of a failing endpoint, and what the analyst has read of the values of its data. */
  readonly tenant: string;
  /** The version of the tenant's data source, which says nothing about the values of the next one; 0 without a source. */
  readonly sourceVersion: number;
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

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** The schema of one object. A model may send any object, so `run` validates it. */
  readonly parameters: JsonSchema;
  /**
   * Returns text for the model, also for an impossible request. An exception ends
   * the answer. The calls of one output run at the same time. `isPreparation`: the call
   * is recorded, but is none of the answer's queries; only the provider can say so.
   */
  run(input: unknown, signal: AbortSignal, options?: { readonly isPreparation?: boolean }): Promise<string>;
}

export interface ModelAnswer {
  readonly content: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The endpoint that answered: `api.example.com/model-name` or `built-in`. */
  readonly endpoint: string;
  /** The model as its provider names it, or `built-in`. */
  readonly model: string;
  /** The analyst asked back or could not read the data: there is nothing to pay for. */
  readonly refused?: boolean;
}

export interface AnswerOptions {
  /** Ends everything at once; `answer` then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called only for streamed requests. The deltas since the last restart are the content. */
  onDelta(text: string): void;
  /** Voids the deltas so far, because another attempt began. */
  onRestart(): void;
}

/** A configured model, or the built-in provider. */
export interface Provider {
  answer(request: ModelRequest, options: AnswerOptions): Promise<ModelAnswer>;
}

export interface Models extends Provider {
  close(): Promise<void>;
}
