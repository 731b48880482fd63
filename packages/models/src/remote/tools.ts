import { abortable } from '@agent-service/work';
import type { Tool } from '../models.ts';
import { estimateDataTokens, firstTokens } from '../prompt.ts';
import type { ChatMessage, ModelOutput, ToolCall } from './chat.ts';
import { isJsonObject, type JsonObject, parseJson } from './json.ts';

/** Calls of one output, each of which may be a query; models rarely send more. */
const maxCalls = 16;

interface RunOptions {
  readonly signal: AbortSignal;
  /** The limit of one result. */
  readonly resultTokens: number;
}

/** A call, and the text for the model if it cannot be run. */
interface CheckedCall {
  readonly call: ToolCall;
  readonly input: JsonObject;
  readonly tool: Tool | undefined;
  readonly fault: string;
}

interface ToolsOutcome {
  readonly messages: readonly ChatMessage[];
  readonly results: readonly string[];
}

/** Runs the calls of one output at the same time. The first that throws ends the others and the answer. */
export async function runTools(tools: readonly Tool[], output: ModelOutput, { signal, resultTokens }: RunOptions): Promise<ToolsOutcome> {
  const checked = output.calls.map((call, index) => check(tools, call, index));
  const abort = new AbortController();
  const both = AbortSignal.any([signal, abort.signal]);
  try {
    const outputs = await abortable(Promise.all(checked.map((one) => run(one, both))), signal);
    const results = outputs.map((output) => clip(output, resultTokens));
    return { messages: [callsMessage(output, checked), resultsMessage(checked, results)], results };
  } catch (cause) {
    abort.abort(cause);
    throw cause;
  }
}

function check(tools: readonly Tool[], call: ToolCall, index: number): CheckedCall {
  const tool = tools.find(({ name }) => name === call.name);
  const input = parseInput(call.arguments);
  return { call, input: input ?? {}, tool, fault: faultOf() };

  function faultOf(): string {
    if (!tool) return `There is no tool of that name. There are: ${tools.map(({ name }) => name).join(', ')}.`;
    if (!input) return 'The arguments were not a JSON object, so nothing was done. Call the tool again with valid arguments.';
    return index < maxCalls ? '' : `At most ${maxCalls} calls are run at a time; this one was not. Call it again if you still need it.`;
  }
}

/** Some models send an empty text when there are no arguments. */
function parseInput(text: string): JsonObject | undefined {
  const input = text.trim() === '' ? {} : parseJson(text);
  return isJsonObject(input) ? input : undefined;
}

async function run({ tool, input, fault }: CheckedCall, signal: AbortSignal): Promise<string> {
  return tool && fault === '' ? tool.run(input, signal) : fault;
}

/** The model's message; invalid arguments are replaced by an empty object, because providers refuse them. */
const callsMessage = ({ endpoint, text, thoughts }: ModelOutput, checked: readonly CheckedCall[]): ChatMessage => ({
  role: 'calls',
  endpoint,
  content: text,
  thoughts,
  calls: checked.map(({ call: { id, name, extra }, input }) => ({ id, name, input, extra })),
});

const resultsMessage = (checked: readonly CheckedCall[], results: readonly string[]): ChatMessage => ({
  role: 'results',
  results: checked.map(({ call, fault }, index) => ({ callId: call.id, content: results[index] ?? '', isError: fault !== '' })),
});

const cutNote = '\n(The rest was left out because the result is too long. Ask for less.)';

/** Cuts a long text between two characters, with a note. */
const clip = (text: string, tokens: number): string =>
  firstTokens(text, tokens) === text ? text : firstTokens(text, tokens - estimateDataTokens(cutNote)) + cutNote;
