import { Client } from 'pg';
import { ask, quantile } from '../answers/asks.ts';
import { startAnswersSystem } from '../answers/system.ts';
import type { Scenario } from '../scenario.ts';

const modelMs = 300;
const concurrency = 20;
const queued = 5_000;
const sent = 20;
const acceptedAtOnce = 50;

/** One organization's long queue, and another that sends a few messages at the same time. */
export const answersFairness: Scenario = {
  name: 'answers-fairness',
  about: `${sent} answers of one organization while another has queued ${queued}; worker concurrency ${concurrency}, model ${modelMs} ms, default limits of what runs at once`,
  async run(say) {
    const bench = await startAnswersSystem(modelMs, { ANSWER_CONCURRENCY: String(concurrency) });
    try {
      const [busy, calm] = [await bench.organization('Busy'), await bench.organization('Calm')];
      const question = { url: `${bench.system.url}${calm.messages}`, key: calm.key };
      const together = async () => (await Promise.all(Array.from({ length: sent }, () => ask(question)))).map(({ totalMs }) => totalMs);
      const oneByOne = async () => {
        const times: number[] = [];
        for (let index = 0; index < sent; index += 1) times.push((await ask(question)).totalMs);
        return times;
      };
      await together();
      const idle = { together: await together(), oneByOne: await oneByOne() };
      await queueUp(`${bench.system.url}${busy.messages}`, busy.key);
      say(`${queued} answers of the busy organization are accepted`);
      const loaded = { together: await together(), oneByOne: await oneByOne() };
      const left = await waitingOf(bench);
      say(`${left} of them still wait now`);
      if (left === 0) throw new Error('the queue was worked off before the measurement ended');
      return {
        promises: [
          {
            name: 'p95 of answers sent together, times that when idle',
            measured: quantile(loaded.together, 0.95) / quantile(idle.together, 0.95),
            atMost: 2,
          },
          {
            name: 'p95 of answers sent one by one, times that when idle',
            measured: quantile(loaded.oneByOne, 0.95) / quantile(idle.oneByOne, 0.95),
            atMost: 2,
          },
        ],
        figures: { queued, sent, concurrency, modelMs, left },
      };
    } finally {
      await bench.stop();
    }
  },
};

async function queueUp(url: string, key: string): Promise<void> {
  let left = queued;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      const response = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'respond-async' },
        body: JSON.stringify({ message: 'One of many' }),
      });
      await response.arrayBuffer();
      if (response.status !== 202) throw new Error(`a message was answered with ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: acceptedAtOnce }, caller));
}

async function waitingOf({ system }: Awaited<ReturnType<typeof startAnswersSystem>>): Promise<number> {
  const database = new Client({ connectionString: system.endpoints['postgres'] ?? '' });
  await database.connect();
  try {
    const { rows } = await database.query<{ waiting: string }>('select sum(waiting) as waiting from agents.answer_lines');
    return Number(rows[0]?.waiting ?? 0);
  } finally {
    await database.end();
  }
}
