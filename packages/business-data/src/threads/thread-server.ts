import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { Refusal } from '../failure.ts';
import type { PassedStatement } from '../gates/pass-gates.ts';
import { createScope, type ResolvedScope, type ScopeData } from '../scope/scope.ts';

/** One statement for a thread. It has the scope as JSON only where the thread does not have that scope yet. */
export interface GateRequest {
  readonly text: string;
  readonly scopeId: number;
  readonly scopeJson?: string | undefined;
  /** Scopes that will not be used again. */
  readonly forget: readonly number[];
}

/** `failed`: an error other than a refusal; the thread must not be used again. */
export type GateReply =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'passed'; readonly text: string; readonly tables: readonly number[] } & StatementCost)
  | ({ readonly kind: 'refused'; readonly message: string } & StatementCost)
  | { readonly kind: 'failed'; readonly message: string };

interface StatementCost {
  /** Processor time of the statement. */
  readonly cpuMs: number;
  /** The thread must not be used again. */
  readonly isUsedUp: boolean;
}

/** The parser's WebAssembly memory never shrinks, and the heap limit of the thread does not include it. */
const maxExternalBytes = 256 * 1024 * 1024;

/** Replies to the requests of the main thread, in their order. */
export function serveStatements(pass: (text: string, scope: ResolvedScope) => PassedStatement): void {
  const port = parentPort;
  if (port === null) throw new Error('a gate is served in a worker thread only');
  const scopes = new Map<number, ResolvedScope>();
  port.on('message', (request: GateRequest) => {
    for (const id of request.forget) scopes.delete(id);
    port.postMessage(replyTo(request, scopes, pass));
  });
  // Not before all modules have been evaluated: V8 aborts the process when a thread is terminated within the one that ends a top-level await.
  setImmediate(() => port.postMessage({ kind: 'ready' } satisfies GateReply));
}

function replyTo(request: GateRequest, scopes: Map<number, ResolvedScope>, pass: Parameters<typeof serveStatements>[0]): GateReply {
  const begin = cpuMs();
  try {
    const scope = scopeOf(request, scopes);
    const { text, tables } = pass(request.text, scope);
    return { kind: 'passed', text, tables: tables.map((table) => positionOf(table, scope)), ...costSince(begin) };
  } catch (cause) {
    if (cause instanceof Refusal) return { kind: 'refused', message: cause.message, ...costSince(begin) };
    return { kind: 'failed', message: cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause) };
  }
}

function scopeOf({ scopeId, scopeJson }: GateRequest, scopes: Map<number, ResolvedScope>): ResolvedScope {
  if (scopeJson !== undefined) scopes.set(scopeId, createScope(JSON.parse(scopeJson) as ScopeData));
  const scope = scopes.get(scopeId);
  if (scope === undefined) throw new Error('the scope of a statement was not sent');
  return scope;
}

const positionOf = (table: { readonly schema: string; readonly name: string }, { tables }: ScopeData): number =>
  tables.findIndex(({ schema, name }) => schema === table.schema && name === table.name);

const costSince = (begin: number): StatementCost => ({
  cpuMs: cpuMs() - begin,
  isUsedUp: getHeapStatistics().external_memory > maxExternalBytes,
});

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
