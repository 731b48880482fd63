import {
  acquirePermit,
  createBusinessData,
  createTools,
  DataFailure,
  type StatementGate,
  type ToolAnswer,
  type ToolDefinition,
  toolDefinitions,
} from '@agent-service/business-data';
import type { Client, ServiceError } from '@agent-service/contracts';
import type { JsonSchema, Tool } from '@agent-service/models';
import { abortable, createSemaphore, tenantName } from '@agent-service/work';
import { z } from 'zod';
import type { BegunAnswer } from '../answers/answers-api.ts';
import { type QueryRecord, withQuery } from '../domain/query-log.ts';
import { detailOf } from '../domain/step-detail.ts';
import type { Held } from '../hand/hand.ts';
import type { Meters } from '../meters.ts';
import type { Reader } from '../replies/replies.ts';
import { createChanges } from './changes.ts';
import type { TenantSources } from './sources.ts';
import { createSteps, type Standing } from './steps.ts';

/** What a model may do with the business data of one answer, and what it did. */
export interface AnswerTools {
  /** None where there is no data to look at. */
  readonly tools: readonly Tool[];
  readonly queries: readonly QueryRecord[];
  /** A failure of the answer, with what must be said of changes that were made before it. */
  failure(error: ServiceError): ServiceError;
}

export interface DataParts {
  readonly agents: Client<'agents'>;
  readonly sources: TenantSources;
  readonly gate: StatementGate;
  readonly meters: Meters;
  readonly now: () => number;
}

export interface Working {
  readonly begun: BegunAnswer;
  readonly held: Held;
  readonly reader: Reader;
}

/** What one step may take, and a model is shown of it. */
const limits = { maxRows: 100, maxBytes: 1024 * 1024, timeoutMs: 10_000 };
/** However many a model asks for at once, so that other answers come to the same database too. */
const stepsAtOnce = 2;

const schemas = new Map(
  toolDefinitions.map(({ name, input }) => [name, z.toJSONSchema(input, { target: 'draft-7' }) as JsonSchema] as const),
);

const refused = (text: string): ToolAnswer => ({ text, failure: new DataFailure('refused', text) });
const unconnected = () => {
  const text = 'No data source is connected at the moment.';
  return { text, failure: new DataFailure('unavailable', text) };
};

/** The tools of one answer. Before each step `agents` is asked what the agent may see now, so that a change of its scope holds at once. */
export function createAnswerTools({ agents, sources, gate, meters, now }: DataParts, { begun, held, reader }: Working): AnswerTools {
  const onAgain = () => meters.askedAgain.inc({ call: 'step' });
  const steps = createSteps({ agents, held, deadlineMs: Number(begun.deadlineMs), now, onAgain });
  const changes = createChanges(steps);
  const semaphore = createSemaphore(stepsAtOnce);
  let queries: readonly QueryRecord[] = [];

  async function over({ scope, sourceVersion }: Standing, call: Call): Promise<ToolAnswer> {
    const source = await sources.of(held.key.answer, sourceVersion, steps);
    if (!source) return unconnected();
    const data = createBusinessData({ source, gate: gate.of(tenantName(held.key.answer)), scope });
    const tools = createTools(data, scope);
    const tool = tools.find(({ name }) => name === call.definition.name);
    return tool
      ? await tool.run(call.input, { ...limits, signal: call.signal })
      : refused('Nothing can be changed here: the data is read-only.');
  }

  async function take(call: Call): Promise<ToolAnswer> {
    const { definition, input } = call;
    if (!definition.writes) return over(await steps.mayRead(), call);
    const { error } = definition.input.safeParse(input);
    // What is not even a change claims nothing.
    if (error) return refused(`The input of ${definition.name} is not valid: ${z.prettifyError(error)}`);
    return changes.make(detailOf(definition.name, input), (standing) => over(standing, call), input);
  }

  async function inTurn(call: Call): Promise<ToolAnswer> {
    const release = await acquirePermit(semaphore, { signal: call.signal });
    try {
      return await take(call);
    } finally {
      release();
    }
  }

  async function run(call: Call): Promise<string> {
    const startedAt = performance.now();
    const { definition, input } = call;
    const answer = await inTurn(call);
    const durationMs = performance.now() - startedAt;
    meters.toolSeconds.observe({ tool: definition.name, outcome: answer.failure?.kind ?? 'done' }, durationMs / 1000);
    const { result, failure } = answer;
    if (result) queries = withQuery(queries, { ...result, statement: statementOf(call) ?? result.statement, rows: result.rows.length });
    if (held.interruption === undefined)
      reader.tool({
        name: definition.name,
        detail: detailOf(definition.name, input),
        rows: result?.rows.length ?? 0,
        durationMs: Math.round(durationMs),
        error: failure?.message ?? '',
      });
    return answer.text;
  }

  return {
    tools: offered(begun).map((definition) => ({
      name: definition.name,
      description: definition.description,
      parameters: schemas.get(definition.name) ?? {},
      run: (input, signal) => abortable(run({ definition, input, signal }), signal),
    })),
    get queries() {
      return queries;
    },
    failure: changes.failure,
  };
}

interface Call {
  readonly definition: ToolDefinition;
  readonly input: unknown;
  readonly signal: AbortSignal;
}

function offered({ sourceVersion, dataScope }: BegunAnswer): readonly ToolDefinition[] {
  if (sourceVersion === 0 || !dataScope || dataScope.tables.length === 0) return [];
  return dataScope.readOnly ? toolDefinitions.filter(({ writes }) => !writes) : toolDefinitions;
}

/** As the model wrote it; what runs names every column in scope. */
function statementOf({ definition, input }: Call): string | undefined {
  const { sql } = definition.name === 'query' ? (input as { sql?: unknown }) : {};
  return typeof sql === 'string' ? sql : undefined;
}
