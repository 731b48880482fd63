import {
  acquirePermit,
  type Catalog,
  createBusinessData,
  createTools,
  DataFailure,
  type DataScope,
  type DataSource,
  describeData,
  invalidInput,
  type ResultBudget,
  resolveScope,
  type StatementGate,
  type ToolDefinition,
  type ToolResult,
  toolDefinitions,
  toolRefusal,
} from '@agent-service/business-data';
import { type Client, ServiceError } from '@agent-service/contracts';
import type { JsonSchema, Tool } from '@agent-service/models';
import type { ReplyWriter } from '@agent-service/queues';
import { abortable, createBackoff, createSemaphore, retry, tenantName } from '@agent-service/work';
import { z } from 'zod';
import type { BegunAnswer } from '../answers-api.ts';
import type { InFlightAnswer } from '../in-flight-answers.ts';
import type { Meters } from '../meters.ts';
import { createChanges } from './changes.ts';
import type { TenantSources } from './sources.ts';
import { detailOf, StepLog } from './step-records.ts';
import { createSteps, type StepPermission } from './steps.ts';

/** The business data tools of one attempt. */
export interface AnswerTools {
  /** Empty without a data source or scope. */
  readonly tools: readonly Tool[];
  /** Every step so far. */
  readonly log: StepLog;
  /**
   * Reads the tables in scope, and returns a function that describes them in at most that many bytes. Rejects with the failure of the answer
   * where the data source cannot be read, or has none of the tables.
   */
  describeData(): Promise<(maxBytes: number) => string>;
  /** The failure of the answer, with a note about changes that were made before it. */
  failure(error: ServiceError): ServiceError;
}

interface ToolDeps {
  readonly agents: Client<'agents'>;
  readonly sources: TenantSources;
  readonly gate: StatementGate;
  readonly budget: ResultBudget;
  readonly meters: Meters;
  readonly now: () => number;
  /** The time zone of "today" in the data. */
  readonly timeZone: string;
}

export interface ToolsOptions {
  readonly attempt: BegunAnswer;
  readonly inFlight: InFlightAnswer;
  readonly writer: ReplyWriter;
}

/** Parallel steps of an answer; other answers use the same database. */
const maxParallelSteps = 2;

const schemas = new Map(
  toolDefinitions.map(({ name, input }) => [name, z.toJSONSchema(input, { target: 'draft-7' }) as JsonSchema] as const),
);

const unconnectedText = 'No data source is connected at the moment.';

/** Creates the tools of an attempt. Each step first asks agents for the agent's scope, so that a change of it takes effect at once. */
export function createAnswerTools(
  { agents, sources, gate, budget, meters, now, timeZone }: ToolDeps,
  { attempt, inFlight, writer }: ToolsOptions,
): AnswerTools {
  const onRetry = () => meters.callsRepeated.inc({ call: 'step' });
  const steps = createSteps({ agents, inFlight, deadlineMs: Number(attempt.deadlineMs), now, onRetry });
  const changes = createChanges(steps);
  const semaphore = createSemaphore(maxParallelSteps);
  const log = new StepLog();

  async function runOver({ scope, sourceVersion }: StepPermission, call: ToolCall): Promise<ToolResult> {
    const source = await sources.of(inFlight.key.answer, sourceVersion, steps);
    if (!source) return toolRefusal(unconnectedText);
    await readCatalog(source);
    const tenant = tenantName(inFlight.key.answer);
    const data = createBusinessData({ source, gate: gate.of(tenant), budget: budget.of(tenant), scope, timeZone });
    return runTool(createTools(data, scope), call);
  }

  async function runStep(call: ToolCall): Promise<ToolResult> {
    const { definition, input } = call;
    if (!definition.writes)
      return retryUnavailable(async () => requireAvailable(await runOver(await steps.authorizeRead(), call)), call.signal);
    const { error } = definition.input.safeParse(input);
    // An invalid input claims no step.
    if (error) return invalidInput(definition.name, error);
    return changes.make(input, (permission) => runOver(permission, call));
  }

  async function inTurn(call: ToolCall): Promise<ToolResult> {
    const release = await acquirePermit(semaphore, { signal: call.signal });
    try {
      return await runStep(call).catch(toUnavailableResult);
    } finally {
      release();
    }
  }

  async function run(call: ToolCall): Promise<string> {
    const startedAt = performance.now();
    const toolResult = await inTurn(call);
    const durationMs = performance.now() - startedAt;
    const { failure } = toolResult;
    meters.toolSeconds.observe({ tool: call.definition.name, outcome: failure?.kind ?? 'done' }, durationMs / 1000);
    log.add({ name: call.definition.name, input: call.input, toolResult, durationMs, isPreparation: call.isPreparation });
    if (inFlight.interruption === undefined) writer.tool(streamedStep(call, toolResult, durationMs));
    if (failure?.kind === 'unavailable') throw unavailableError(failure);
    return toolResult.text;
  }

  async function openSource(): Promise<DataSource | undefined> {
    return attempt.sourceVersion === 0 ? undefined : await sources.of(inFlight.key.answer, attempt.sourceVersion, steps);
  }

  const definitions = offeredTools(attempt);
  // The threads start while the model works on its first step.
  if (definitions.length > 0) gate.prepare();
  return {
    tools: definitions.map((definition) => ({
      name: definition.name,
      description: definition.description,
      parameters: schemas.get(definition.name) ?? {},
      run: (input, signal, options) => abortable(run({ definition, input, signal, ...options }), signal),
    })),
    log,
    describeData: () => readScope(scopeOf(attempt), openSource, { signal: inFlight.signal, timeZone }),
    failure: changes.failure,
  };
}

function runTool(tools: ReturnType<typeof createTools>, { definition, input, signal }: ToolCall): ToolResult | Promise<ToolResult> {
  const tool = tools.find(({ name }) => name === definition.name);
  return tool ? tool.run(input, { signal }) : toolRefusal('Nothing can be changed here: the data is read-only.');
}

/** Reads the tables in scope and returns their description, or throws the failure of the answer. */
async function readScope(
  scope: DataScope,
  openSource: () => Promise<DataSource | undefined>,
  { signal, timeZone }: { readonly signal: AbortSignal; readonly timeZone: string },
): Promise<(maxBytes: number) => string> {
  if (scope.tables.length === 0) return () => '';
  const source = await abortable(openSource(), signal);
  if (!source) return () => `${unconnectedText} No business data can be read.`;
  try {
    const catalog = await abortable(
      retryUnavailable(() => readCatalog(source), signal),
      signal,
    );
    const resolution = resolveScope(catalog, scope);
    if (resolution.scope.tables.length === 0) throw new ServiceError('data_scope_empty');
    return (maxBytes) => describeData(resolution, { maxBytes, timeZone });
  } catch (cause) {
    throw isUnavailable(cause) ? unavailableError(cause) : cause;
  }
}

/** The tables of the data source, cached for half a minute. Any failure means that the data source cannot be read. */
async function readCatalog(source: DataSource): Promise<Catalog> {
  try {
    return await source.catalog();
  } catch (cause) {
    const message = cause instanceof DataFailure ? cause.message : 'The data source cannot be read.';
    throw new DataFailure('unavailable', message, cause);
  }
}

const isUnavailable = (cause: unknown): cause is DataFailure => cause instanceof DataFailure && cause.kind === 'unavailable';

function toUnavailableResult(cause: unknown): ToolResult {
  if (isUnavailable(cause)) return { text: cause.message, failure: cause };
  throw cause;
}

const unavailableError = (failure: DataFailure): ServiceError =>
  new ServiceError('data_source_unavailable', { message: `${failure.message} No credits were charged.`, cause: failure });

const maxRetries = 2;
/** A failure that took longer is not repeated. */
const retryWithinMs = 5_000;
const pauseAfter = createBackoff({ firstMs: 250, maxMs: 1_000, jitter: 1 });

/** Retries a read while the data source is unavailable: a database that was restarted has closed the connections in the pool. */
function retryUnavailable<Result>(read: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  const begin = performance.now();
  const isRepeated = (failures: number, cause: unknown) =>
    isUnavailable(cause) && failures <= maxRetries && performance.now() - begin < retryWithinMs;
  return retry(read, { pauseAfter: (failures, cause) => (isRepeated(failures, cause) ? pauseAfter(failures) : undefined), signal });
}

/** Throws where the data source is unavailable: a model does not get that as a result. */
function requireAvailable(toolResult: ToolResult): ToolResult {
  if (toolResult.failure?.kind === 'unavailable') throw toolResult.failure;
  return toolResult;
}

type StreamedStep = Parameters<ReplyWriter['tool']>[0];

/** The step for readers of the stream. */
const streamedStep = ({ definition, input }: ToolCall, { result, failure }: ToolResult, durationMs: number): StreamedStep => ({
  name: definition.name,
  detail: detailOf(definition.name, input),
  rows: result?.rows.length ?? 0,
  durationMs: Math.round(durationMs),
  error: failure?.message ?? '',
});

interface ToolCall {
  readonly definition: ToolDefinition;
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly isPreparation?: boolean;
}

const scopeOf = ({ dataScope }: BegunAnswer): DataScope => ({ tables: dataScope?.tables ?? [], readOnly: dataScope?.readOnly ?? true });

function offeredTools(attempt: BegunAnswer): readonly ToolDefinition[] {
  const { tables, readOnly } = scopeOf(attempt);
  if (attempt.sourceVersion === 0 || tables.length === 0) return [];
  return readOnly ? toolDefinitions.filter(({ writes }) => !writes) : toolDefinitions;
}
