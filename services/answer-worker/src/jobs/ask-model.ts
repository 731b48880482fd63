import { ServiceError } from '@agent-service/contracts';
import { type ModelAnswer, type ModelRequest, type Tier, tiers } from '@agent-service/models';
import { inStepSpan } from '@agent-service/runtime';
import type { BegunAnswer } from '../answers/answers-api.ts';
import type { WorkerContext } from '../context.ts';
import { longestContent } from '../domain/content.ts';
import type { QueryRecord } from '../domain/query-log.ts';
import type { Held } from '../hand/hand.ts';
import type { Interruption } from '../hand/interruption.ts';
import type { Reader } from '../replies/replies.ts';
import { contentTypeOf, outputOf } from './output.ts';

export interface Question {
  readonly environment: ModelRequest['environment'];
  readonly begun: BegunAnswer;
  readonly held: Held;
  readonly reader: Reader;
}

/** What came of asking. */
export type Asked = { readonly firstDeltaAt: number | undefined; readonly queries: readonly QueryRecord[] } & (
  | { readonly kind: 'answer'; readonly answer: ModelAnswer; readonly contentType: 'text' | 'markdown' }
  | { readonly kind: 'failure'; readonly error: ServiceError }
  | { readonly kind: 'interrupted'; readonly why: Exclude<Interruption, 'deadline'> }
);

const tooLate = () => new ServiceError('answer_timeout', { message: 'The answer took longer than it may. No credits were charged.' });
const tooLong = () =>
  new ServiceError('provider_error', { message: 'The model gave an answer that is too long to keep. No credits were charged.' });

/** Asks the model, and lets those who read along have what comes. */
export async function askModel({ models, toolsOf }: WorkerContext, { environment, begun, held, reader }: Question): Promise<Asked> {
  let firstDeltaAt: number | undefined;
  const work = toolsOf({ begun, held, reader });
  const said = () => ({ firstDeltaAt, queries: work.queries });
  const ended = (why: Interruption) =>
    why === 'deadline' ? ({ kind: 'failure', error: work.failure(tooLate()) } as const) : ({ kind: 'interrupted', why } as const);
  const onDelta = (text: string) => {
    // Nobody reads what comes after the end.
    if (held.interruption !== undefined) return;
    firstDeltaAt ??= performance.now();
    reader.delta(text);
  };
  reader.started();
  try {
    // Whatever an earlier attempt changed, this one would change again.
    if (begun.changedBefore) throw new ServiceError('change_unfinished');
    const request = requestOf(environment, begun, work.tools);
    const answer = await inStepSpan('model', () => models.answer(request, { signal: held.signal, onDelta, onRestart: reader.restart }));
    // An answer that is there is worth having in spite of a process that is about to stop.
    if (held.interruption !== undefined && held.interruption !== 'stopping') return { ...said(), ...ended(held.interruption) };
    reader.end();
    if (answer.content.length > longestContent) return { ...said(), kind: 'failure', error: work.failure(tooLong()) };
    return { ...said(), kind: 'answer', answer, contentType: contentTypeOf(request.output) };
  } catch (cause) {
    if (held.interruption !== undefined) return { ...said(), ...ended(held.interruption) };
    return { ...said(), kind: 'failure', error: work.failure(ServiceError.from(cause)) };
  } finally {
    reader.drop();
  }
}

function requestOf(environment: ModelRequest['environment'], begun: BegunAnswer, tools: ModelRequest['tools']): ModelRequest {
  return {
    tier: tierOf(begun.model),
    environment,
    instructions: begun.systemPrompt,
    context: begun.contextJson,
    history: begun.history.map(({ role, content }) => ({ role: role === 'assistant' ? 'assistant' : 'user', content })),
    message: begun.message,
    stream: begun.stream,
    tools,
    output: outputOf(begun.outputPreferences),
  };
}

function tierOf(model: string): Tier {
  const tier = tiers.find((known) => known === model);
  if (tier) return tier;
  throw new ServiceError('internal', { cause: new Error(`there is no tier ${JSON.stringify(model)}`) });
}
