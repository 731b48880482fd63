import { parentPort, workerData } from 'node:worker_threads';
import { steadyLoad } from '@agent-service/testkit/faults/steady-load';
import type { SteadyOptions, SteadyResult } from './steady-traffic.ts';

const { url, agentId, key, perSecond } = workerData as SteadyOptions;
const limitMs = 20_000;
const messageIds: string[] = [];

async function sendMessage(index: number): Promise<void> {
  const response = await fetch(`${url}/v1/agents/${agentId}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ message: `Steady ${index}` }),
    signal: AbortSignal.timeout(limitMs),
  });
  const text = await response.text();
  if (response.status !== 202) throw new Error(`${response.status} ${text}`);
  messageIds.push((JSON.parse(text) as { data: { id: string } }).data.id);
}

const load = steadyLoad(perSecond, sendMessage);
parentPort?.once('message', async () => {
  const samples = await load.stop();
  parentPort?.postMessage({ samples, messageIds } satisfies SteadyResult);
});
