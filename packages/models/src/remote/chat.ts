import type { Tool } from '../models.ts';
import type { Endpoint } from '../models-file.ts';
import { cleanText, type PromptMessage, textCleaner } from '../prompt.ts';
import { ModelFailure } from './failure.ts';
import type { JsonObject } from './json.ts';

/** A call of a tool as the model wrote it. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, valid or not. */
  readonly arguments: string;
  /** Further content of the call, which the provider expects together with its result, such as the signature of Google's models. */
  readonly extra?: JsonObject | undefined;
}

/** A model's thoughts as they came: a provider that sends them in one form may refuse the other forms, or their absence. */
interface Thoughts {
  /** By the name of the message's field. */
  readonly texts: Record<string, string>;
  readonly details: JsonObject[];
  /** Parts of the content, without its text. */
  readonly parts: JsonObject[];
}

export type ChatMessage = PromptMessage | CallsMessage | { readonly role: 'results'; readonly results: readonly ToolResult[] };

export interface CallsMessage {
  readonly role: 'calls';
  /** The endpoint whose model wrote it. */
  readonly endpoint: Endpoint;
  readonly content: string;
  readonly thoughts: Thoughts;
  readonly calls: readonly SentCall[];
}

type SentCall = Omit<ToolCall, 'arguments'> & { readonly input: Readonly<Record<string, unknown>> };

interface ToolResult {
  readonly callId: string;
  readonly content: string;
  readonly isError: boolean;
}

const noThoughts = (): Thoughts => ({ texts: {}, details: [], parts: [] });

/**
 * The messages as this endpoint accepts them. Providers refuse thoughts and signatures of each other and have different rules for the ids of
 * calls, so calls that the model of another endpoint wrote get ids of nine letters and digits, which suit all of them.
 */
export function messagesFor(endpoint: Endpoint, messages: readonly ChatMessage[]): ChatMessage[] {
  const isOwn = (message: CallsMessage) => message.endpoint === endpoint;
  const ownCalls = messages.flatMap((message) => (message.role === 'calls' && isOwn(message) ? message.calls : []));
  const ownIds = new Set(ownCalls.map(({ id }) => id));
  let number = 0;
  /** The new ids of the last calls that came before, for their results. */
  let ids = new Map<string, string>();

  function newId(): string {
    number += 1;
    const id = `c${String(number).padStart(8, '0')}`;
    return ownIds.has(id) ? newId() : id;
  }

  const rename = (id: string) => ids.get(id) ?? id;

  return messages.map((message): ChatMessage => {
    if (message.role === 'results')
      return { ...message, results: message.results.map((result) => ({ ...result, callId: rename(result.callId) })) };
    if (message.role !== 'calls') return message;
    ids = new Map(isOwn(message) ? [] : message.calls.map(({ id }) => [id, newId()]));
    if (isOwn(message)) return message;
    return { ...message, thoughts: noThoughts(), calls: message.calls.map(({ id, name, input }) => ({ id: rename(id), name, input })) };
  });
}

/** One call of a model, in the terms that all interfaces have. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly maxOutputTokens: number;
  readonly tools: readonly Tool[];
  readonly stream: boolean;
  /** The model has to answer with a text now. */
  readonly mustAnswer: boolean;
  /** The text has to be a JSON object, where the interface can demand that. */
  readonly json: boolean;
}

type Finish = 'length' | 'filtered' | 'other';

/** The result of one call of a model. */
export interface ModelOutput {
  readonly endpoint: Endpoint;
  /** The model as the provider names it; empty where it does not. */
  readonly model: string;
  readonly text: string;
  /** The text of the thoughts, for an estimate of its tokens. */
  readonly reasoning: string;
  readonly thoughts: Thoughts;
  readonly calls: readonly ToolCall[];
  readonly finish: Finish;
  /** The counts of the provider, which may be implausible. */
  readonly inputTokens: unknown;
  readonly outputTokens: unknown;
}

export interface OutputListener {
  /** A piece of text of a streamed answer. */
  onText(text: string): void;
  /** Any event of a stream. */
  onProgress(): void;
}

/** A provider's HTTP interface: the request for a chat, and the readers of its answers. */
export interface ModelInterface {
  readonly path: string;
  headers(apiKey: string | undefined): Record<string, string>;
  body(request: ChatRequest): Record<string, unknown>;
  /** Reads a whole answer. Throws a ModelFailure for anything else. */
  readAnswer(answer: JsonObject, draft: OutputDraft): void;
  /** Reads one event of a stream. */
  readEvent(event: JsonObject, draft: OutputDraft): void;
}

/** The longest answer in characters, above any length that models are asked for. */
const maxTextLength = 1_000_000;
/** Calls of tools in one output: far more than models make, and few enough that each piece can be compared with all of them. */
const maxCalls = 200;
/** As long as a name in a models file. */
const maxNameLength = 200;

/** The name of a model, without the folder that llama.cpp has it in. */
const nameIn = (model: string): string =>
  cleanText(model.startsWith('/') ? model.slice(model.lastIndexOf('/') + 1) : model).slice(0, maxNameLength);

interface CallDraft {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  extra: JsonObject | undefined;
}

/** The parts of an answer that have been read so far. */
export class OutputDraft {
  inputTokens: unknown;
  outputTokens: unknown;
  finish: Finish = 'other';
  model = '';
  /** False for a stream that was cut off. */
  isComplete = false;
  /** True after the last event of a stream: its response may go on, but has nothing to tell. */
  isOver = false;
  reasoning = '';
  readonly thoughts = noThoughts();
  readonly calls: CallDraft[] = [];
  readonly #endpoint: Endpoint;
  readonly #cleaner = textCleaner();
  readonly #onText: (text: string) => void;
  #text = '';

  constructor(endpoint: Endpoint, onText: (text: string) => void) {
    this.#endpoint = endpoint;
    this.#onText = onText;
  }

  addText(piece: string): void {
    this.#pass(this.#cleaner.push(piece));
  }

  addCall(call: Partial<CallDraft>): CallDraft {
    if (this.calls.length >= maxCalls) throw new ModelFailure('too_large');
    const draft = { index: undefined, id: '', name: '', arguments: '', extra: undefined, ...call };
    this.calls.push(draft);
    return draft;
  }

  #pass(piece: string): void {
    if (piece === '') return;
    this.#text += piece;
    if (this.#text.length > maxTextLength) throw new ModelFailure('too_large');
    this.#onText(piece);
  }

  output(): ModelOutput {
    if (!this.isComplete) throw new ModelFailure('cut');
    this.#pass(this.#cleaner.flush());
    const { reasoning, thoughts, finish, inputTokens, outputTokens } = this;
    const model = nameIn(this.model);
    return {
      endpoint: this.#endpoint,
      model,
      text: this.#text,
      reasoning,
      thoughts,
      calls: finishCalls(this.calls),
      finish,
      inputTokens,
      outputTokens,
    };
  }
}

/** Every call gets an id of its own, which its result refers to. Nine letters and digits are an id for every provider. */
function finishCalls(drafts: readonly CallDraft[]): ToolCall[] {
  const ids = new Set<string>();
  return drafts.map(({ id, name, arguments: text, extra }) => {
    if (name.trim() === '') throw new ModelFailure('malformed', { code: 'unnamed_call' });
    const ownId = id.trim() === '' || ids.has(id) ? crypto.randomUUID().replaceAll('-', '').slice(0, 9) : id;
    ids.add(ownId);
    return { id: ownId, name, arguments: cleanText(text), extra };
  });
}
