import { overdueAnswerMessage, ServiceError } from '@agent-service/contracts';
import { type ModelAnswer, type ModelRequest, type Output, type Tier, tiers } from '@agent-service/models';
import type { ReplyWriter } from '@agent-service/queues';
import { inStepSpan } from '@agent-service/runtime';
import { tenantName } from '@agent-service/work';
import type { BegunAnswer } from '../answers-api.ts';
import type { WorkerDeps } from '../deps.ts';
import type { InFlightAnswer, Interruption } from '../in-flight-answers.ts';
import type { StepLog } from '../tools/step-records.ts';

interface ModelCall {
  readonly environment: ModelRequest['environment'];
  readonly attempt: BegunAnswer;
  readonly inFlight: InFlightAnswer;
  readonly writer: ReplyWriter;
}

/** The outcome of asking the model. */
export type ModelReply = { readonly firstDeltaAt: number | undefined; readonly log: StepLog } & (
  | {
      readonly kind: 'answer';
      readonly answer: ModelAnswer;
      readonly contentType: 'text' | 'markdown';
      /** The failure of an answer that cannot be stored, with a note about changes that it made. */
      readonly failure: (error: ServiceError) => ServiceError;
    }
  | { readonly kind: 'failure'; readonly error: ServiceError }
  | { readonly kind: 'interrupted'; readonly why: Exclude<Interruption, 'deadline'> }
);

const overdueError = () => new ServiceError('answer_timeout', { message: overdueAnswerMessage });
const oversizedError = () =>
  new ServiceError('provider_error', { message: 'The model gave an answer that is too long to keep. No credits were charged.' });

/** Calls the model, and streams its reply to gateways. */
export async function askModel(
  { models, toolsOf, today }: WorkerDeps,
  { environment, attempt, inFlight, writer }: ModelCall,
): Promise<ModelReply> {
  let firstDeltaAt: number | undefined;
  const tools = toolsOf({ attempt, inFlight, writer });
  const common = () => ({ firstDeltaAt, log: tools.log });
  const interrupted = (why: Interruption) =>
    why === 'deadline' ? ({ kind: 'failure', error: tools.failure(overdueError()) } as const) : ({ kind: 'interrupted', why } as const);
  const onDelta = (text: string) => {
    if (inFlight.interruption !== undefined) return;
    firstDeltaAt ??= performance.now();
    writer.delta(text);
  };
  writer.started();
  try {
    // This attempt would repeat the changes of an earlier one.
    if (attempt.changedBefore) throw new ServiceError('change_unfinished');
    const describeData = await tools.describeData();
    const facts = (maxBytes: number) => factsOf(today(), describeData, maxBytes);
    const request = requestOf(environment, attempt, {
      tools: tools.tools,
      facts,
      tenant: tenantName(inFlight.key.answer),
    });
    const result = await inStepSpan('model', () => models.answer(request, { signal: inFlight.signal, onDelta, onRestart: writer.restart }));
    // A process that stops still stores a finished result.
    if (inFlight.interruption !== undefined && inFlight.interruption !== 'stopping')
      return { ...common(), ...interrupted(inFlight.interruption) };
    writer.end();
    if (result.content.length > maxContentLength) return { ...common(), kind: 'failure', error: tools.failure(oversizedError()) };
    return { ...common(), kind: 'answer', answer: result, contentType: contentTypeOf(request.output), failure: tools.failure };
  } catch (cause) {
    if (inFlight.interruption !== undefined) return { ...common(), ...interrupted(inFlight.interruption) };
    return { ...common(), kind: 'failure', error: tools.failure(ServiceError.from(cause)) };
  } finally {
    writer.drop();
  }
}

/** Returns "Today is Sunday, 2026-11-22, in the time zone Europe/Berlin." */
export function createToday(now: () => number, timeZone: string): () => string {
  const weekday = new Intl.DateTimeFormat('en', { timeZone, weekday: 'long' });
  // This locale writes dates as ISO 8601 does.
  const date = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short' });
  return () => `Today is ${weekday.format(now())}, ${date.format(now())}, in the time zone ${timeZone}.`;
}

function factsOf(today: string, describeData: (maxBytes: number) => string, maxBytes: number): string {
  const data = describeData(maxBytes - Buffer.byteLength(today) - 2);
  return data === '' ? today : `${today}\n\n${data}`;
}

function requestOf(
  environment: ModelRequest['environment'],
  attempt: BegunAnswer,
  data: Pick<ModelRequest, 'tools' | 'facts' | 'tenant'>,
): ModelRequest {
  return {
    ...data,
    tier: tierOf(attempt.model),
    environment,
    instructions: attempt.systemPrompt,
    context: attempt.contextJson,
    sourceVersion: attempt.sourceVersion,
    history: attempt.history.map(({ role, content }) => ({ role: role === 'assistant' ? 'assistant' : 'user', content })),
    message: attempt.message,
    stream: attempt.stream,
    output: outputOf(attempt.outputPreferences),
  };
}

function tierOf(model: string): Tier {
  const tier = tiers.find((known) => known === model);
  if (tier) return tier;
  throw new ServiceError('internal', { cause: new Error(`there is no tier ${JSON.stringify(model)}`) });
}

const formats: readonly Output['format'][] = ['markdown', 'table', 'text', 'json'];

/** The output that the agent prefers; by default markdown without charts. Text and JSON have no charts. */
export function outputOf(preferences: { defaultFormat: string; chartEnabled: boolean } | null | undefined): Output {
  const format = formats.find((known) => known === preferences?.defaultFormat) ?? 'markdown';
  if (format === 'text' || format === 'json') return { format, charts: false };
  return { format, charts: preferences?.chartEnabled ?? false };
}

/** Clients render everything but plain text. */
export const contentTypeOf = ({ format }: Output): 'text' | 'markdown' => (format === 'text' ? 'text' : 'markdown');

const maxTokens = 2 ** 31 - 1;

/** UTF-16 units of an answer. At three bytes each they fit into a call. */
const maxContentLength = 1_000_000;

/** A provider's count of tokens as an integer that the contract can carry. */
export function toTokenCount(tokens: number): number {
  return Number.isFinite(tokens) ? Math.min(maxTokens, Math.max(0, Math.ceil(tokens))) : 0;
}
