import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface Asked {
  /** Until the whole answer was there, in milliseconds. */
  readonly totalMs: number;
  /** Until the first text of a streamed answer: its first delta, or the whole where deltas were lost on the way. */
  readonly firstDeltaMs: number;
}

export interface Question {
  readonly url: string;
  readonly key: string;
  readonly stream?: boolean;
}

const body = JSON.stringify({ message: 'How did the last month go?' });
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const limitMs = 120_000;

/** Sends one message and waits for its answer; anything but a completed answer is an error. */
export function ask({ url, key, stream = false }: Question): Promise<Asked> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...(stream && { accept: 'text/event-stream' }),
    };
    const call = request(url, { method: 'POST', agent, headers, timeout: limitMs }, (response) => {
      let text = '';
      let firstDeltaMs = Number.NaN;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (Number.isNaN(firstDeltaMs) && text.includes('event: delta')) firstDeltaMs = performance.now() - began;
      });
      response.on('error', reject);
      response.on('end', () => {
        const good = response.statusCode === 200 && (!stream || text.includes('event: completed'));
        const totalMs = performance.now() - began;
        if (good) resolve({ totalMs, firstDeltaMs: Number.isNaN(firstDeltaMs) ? totalMs : firstDeltaMs });
        else reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 300)}`));
      });
    });
    call.on('timeout', () => call.destroy(new Error(`no answer within ${limitMs} ms`)));
    call.on('error', reject);
    call.end(body);
  });
}

export interface SteadyLoad {
  readonly question: Question;
  readonly inFlight: number;
  readonly seconds: number;
  /** Callers begin one after the other over this time, as people do. */
  readonly rampMs: number;
}

/** The times of the questions of `inFlight` callers with one question each at any time, from when all callers have begun. */
export async function askSteadily({ question, inFlight, seconds, rampMs }: SteadyLoad): Promise<Asked[]> {
  const times: Asked[] = [];
  const measuredFrom = performance.now() + rampMs;
  const end = measuredFrom + seconds * 1000;
  const caller = async (index: number) => {
    await pause((index * rampMs) / inFlight);
    while (performance.now() < end) {
      const began = performance.now();
      const one = await ask(question);
      if (began >= measuredFrom) times.push(one);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, index) => caller(index)));
  return times;
}

export function quantile(values: readonly number[], of: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(of * sorted.length))] ?? Number.NaN;
}
