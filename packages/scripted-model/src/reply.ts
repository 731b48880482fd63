/** The fields of a request that scripts read; the OpenAI and the Anthropic interface name them alike. */
export interface ChatRequest {
  model: string;
  stream?: boolean;
  /** The instructions, where the interface has them beside the messages. */
  system?: unknown;
  max_tokens?: number;
  max_completion_tokens?: number;
  messages: { role: string; content?: unknown; tool_call_id?: string; tool_calls?: unknown[] }[];
  tools?: ({ type: 'function'; function: { name: string } } | { name: string; input_schema: object })[];
  tool_choice?: unknown;
}

/** The reaction of the scripted model to one request. */
export type ModelReply =
  | TextReply
  | ToolsReply
  | { kind: 'failure'; status: number; headers?: Record<string, string>; message?: string; delayMs?: number }
  /** The connection ends in the middle of the answer. */
  | { kind: 'cut'; after: string }
  /** A stream begins with this text and then its connection ends, or nothing more comes. */
  | { kind: 'unfinished'; text: string; by: 'cut' | 'silence' | 'end' }
  /** Exactly these bytes. */
  | { kind: 'raw'; status?: number; headers?: Record<string, string>; body: string }
  /** Never answers; the caller has to give up. */
  | { kind: 'silence' };

export interface TextReply {
  kind: 'text';
  text: string;
  /** null leaves the count out. */
  usage?: Usage | null;
  /** Why it ends, in the word of the interface. */
  finish?: string;
  delayMs?: number;
  pieceDelayMs?: number;
}

export interface ToolsReply {
  kind: 'tools';
  /** Text before the calls. */
  text?: string;
  /** Arguments that are a text are sent as they are, valid or not. */
  calls: { name: string; arguments: Record<string, unknown> | string }[];
  /** In a stream each call is whole before the next begins, as OpenAI sends them. Otherwise their pieces alternate. */
  sequential?: boolean;
  usage?: Usage | null;
  delayMs?: number;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

/** Words with the space behind them. */
export const words = (text: string) => text.match(/\S+\s*|\s+/g) ?? [];

export const usageOf = (request: ChatRequest, text: string): Usage => ({
  prompt_tokens: words(JSON.stringify(request.messages)).length,
  completion_tokens: words(text).length,
});

export const textOf = ({ text = '' }: TextReply | ToolsReply): string => text;

export const argumentsText = (parameters: Record<string, unknown> | string): string =>
  typeof parameters === 'string' ? parameters : JSON.stringify(parameters);
