import { randomUUID } from 'node:crypto';
import type { Client } from '@agent-service/contracts';
import { openRedis, redisSettings, startWorker } from '@agent-service/queues';
import { createProcess, processSettings, readConfig } from '@agent-service/runtime';
import { z } from 'zod';

/** A worker that the test scripts: real jobs, and a model that takes a moment and counts. */
export interface ScriptedWorker {
  /** How often the model was asked for an answer. */
  readonly asked: Map<string, number>;
  /** Answers whose result was acknowledged, and how often. */
  readonly stored: Map<string, number>;
  /** Asked again although a result had been acknowledged before. */
  readonly wasted: string[];
  stop(): Promise<void>;
}

const schema = z.object({ ...processSettings, ...redisSettings });
const renewEveryMs = 5_000;
const retryMs = 100;
const patienceMs = 60_000;

export async function scriptedWorker(agents: Client<'agents'>, redisUrl: string, modelMs: () => number): Promise<ScriptedWorker> {
  const config = readConfig(schema, { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: 'silent', REDIS_URL: redisUrl });
  const asked = new Map<string, number>();
  const stored = new Map<string, number>();
  const wasted: string[] = [];
  const inHand = new Map<string, { answer: object; attempt: number }>();

  /** Until there is an answer, whoever is away meanwhile. */
  async function patient<T>(call: () => Promise<T>): Promise<T | undefined> {
    const end = performance.now() + patienceMs;
    while (performance.now() < end) {
      const response = await call().catch(() => undefined);
      if (response !== undefined) return response;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    return undefined;
  }

  async function work(answer: { organizationId: string; environment: string; answerId: string }): Promise<void> {
    const claim = randomUUID();
    const begun = await patient(() => agents.beginAnswer({ items: [{ answer, claim }], workerChannel: 'worker:test' }));
    const attempt = begun?.results[0]?.begun?.attempt;
    if (attempt === undefined) return;
    const { answerId } = answer;
    inHand.set(answerId, { answer, attempt });
    if (stored.has(answerId)) wasted.push(answerId);
    asked.set(answerId, (asked.get(answerId) ?? 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, modelMs()));
    const item = { answer: { answer, attempt }, content: `answer to ${answerId}`, inputTokens: 10, outputTokens: 10, queries: [] };
    const end = performance.now() + patienceMs;
    while (performance.now() < end) {
      const response = await patient(() => agents.completeAnswer({ items: [item] }));
      const code = response?.results[0]?.refusal?.code;
      if (code === undefined && response) stored.set(answerId, (stored.get(answerId) ?? 0) + 1);
      if (code !== 'unavailable') break;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    inHand.delete(answerId);
  }

  const running = await createProcess('answer-worker', config, async (process) => {
    const redis = await openRedis(process, config);
    await startWorker(process, redis, 'answer', {
      concurrency: 200,
      drainMs: 1_000,
      handle: ({ organizationId, environment, answerId }) => work({ organizationId, environment, answerId }),
    });
    const timer = setInterval(() => {
      if (inHand.size > 0) agents.renewLeases({ answers: [...inHand.values()] }).catch(() => undefined);
    }, renewEveryMs);
    process.onStop('renewals', async () => clearInterval(timer));
  });
  return { asked, stored, wasted, stop: () => running.stop() };
}
