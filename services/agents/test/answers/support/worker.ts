import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@agent-service/contracts';
import { openRedis, redisSettings, startWorker } from '@agent-service/queues';
import { createProcess, processSettings, readConfig } from '@agent-service/runtime';
import { z } from 'zod';

/** A worker that the test scripts: real jobs, and a model that takes a moment and counts. */
export interface ScriptedWorker {
  /** How often the model was called for an answer. */
  readonly requests: Map<string, number>;
  /** Answers whose result was acknowledged, and how often. */
  readonly stored: Map<string, number>;
  /** Answers that the model was called for again although a result had been acknowledged. */
  readonly wasted: string[];
  stop(): Promise<void>;
}

const schema = z.object({ ...processSettings, ...redisSettings });
const renewEveryMs = 5_000;
const retryMs = 100;
const patienceMs = 60_000;

export async function scriptedWorker(agents: Client<'agents'>, redisUrl: string, modelMs: () => number): Promise<ScriptedWorker> {
  const config = readConfig(schema, { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: 'silent', REDIS_URL: redisUrl });
  const requests = new Map<string, number>();
  const stored = new Map<string, number>();
  const wasted: string[] = [];
  const inFlight = new Map<string, { answer: object; attempt: number }>();

  /** Repeats a call until it succeeds, while the service may be away. */
  async function patient<T>(call: () => Promise<T>): Promise<T | undefined> {
    const end = performance.now() + patienceMs;
    while (performance.now() < end) {
      const response = await call().catch(() => undefined);
      if (response !== undefined) return response;
      await pause(retryMs);
    }
    return undefined;
  }

  async function work(answer: { organizationId: string; environment: string; answerId: string }): Promise<void> {
    const claim = randomUUID();
    const response = await patient(() => agents.beginAnswer({ items: [{ answer, claim }], workerChannel: 'worker:test' }));
    const attempt = response?.results[0]?.begun?.attempt;
    if (attempt === undefined) return;
    const { answerId } = answer;
    inFlight.set(answerId, { answer, attempt });
    if (stored.has(answerId)) wasted.push(answerId);
    requests.set(answerId, (requests.get(answerId) ?? 0) + 1);
    await pause(modelMs());
    const item = { answer: { answer, attempt }, content: `answer to ${answerId}`, inputTokens: 10, outputTokens: 10, queries: [] };
    const end = performance.now() + patienceMs;
    while (performance.now() < end) {
      const response = await patient(() => agents.completeAnswer({ items: [item] }));
      const code = response?.results[0]?.refusal?.code;
      if (code === undefined && response) stored.set(answerId, (stored.get(answerId) ?? 0) + 1);
      if (code !== 'unavailable') break;
      await pause(retryMs);
    }
    inFlight.delete(answerId);
  }

  const running = await createProcess('answer-worker', config, async (process) => {
    const redis = await openRedis(process, config);
    await startWorker(process, redis, 'answer', {
      concurrency: 200,
      drainMs: 1_000,
      handle: ({ organizationId, environment, answerId }) => work({ organizationId, environment, answerId }),
    });
    const timer = setInterval(() => {
      if (inFlight.size > 0) agents.renewLeases({ answers: [...inFlight.values()] }).catch(() => undefined);
    }, renewEveryMs);
    process.onStop('renewals', async () => clearInterval(timer));
  });
  return { requests, stored, wasted, stop: () => running.stop() };
}
