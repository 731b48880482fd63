import { expect } from '@jest/globals';
import type { CDPSession, Page } from 'playwright-core';
import { settle } from './world.ts';

export const report = (line: string): unknown => process.stderr.write(`${line}\n`);

export const rounds = 5;

interface Interaction {
  act(): Promise<unknown>;
  undo(): Promise<unknown>;
}

/** The bound of the whole work, most of which follows the paint. The processors of one machine took 130 to 270 ms for the dearest interaction, without other work. */
const cheapMs = 400;

/** Each interaction is painted within 100 ms, and all of its work is cheap. */
export async function expectQuick(page: Page, interactions: Readonly<Record<string, Interaction>>, times = rounds): Promise<void> {
  const work = await workOf(page);
  for (const [name, { act, undo }] of Object.entries(interactions)) {
    const paints: number[] = [];
    const works: number[] = [];
    for (let round = 0; round < times; round += 1) {
      await settle(page);
      const slowness = await slownessOf(page);
      const before = await work();
      const paint = await paintAfter(page, act);
      works.push((await work()) - before);
      paints.push(paint / Math.max(slowness, await slownessOf(page)));
      await undo();
    }
    report(`${name}: painted after ${describeTimes(paints)} ms, processor time ${describeTimes(works)} ms`);
    expect({ name, isCheap: median(works) < cheapMs }).toEqual({ name, isCheap: true });
    expect({ name, isMeasured: Math.min(...paints) > 0, isPaintedSoon: median(paints) < 100 }).toEqual({
      name,
      isMeasured: true,
      isPaintedSoon: true,
    });
  }
}

/**
 * How many times slower this machine is at this moment than it is without other work: the time that a loop in the page takes, divided by the
 * processor time that the page's main thread gets for it. Times are divided by it, so that a busy machine changes no verdict, and 1 on a quiet one.
 */
export async function slownessOf(page: Page): Promise<number> {
  const work = await workOf(page);
  const before = await work();
  const wall = await page.evaluate<number>(
    '(() => { const start = performance.now(); for (let count = 0, value = 1; count < 3e7; count += 1) value = (value * 48271) % 2147483647; return performance.now() - start; })()',
  );
  return Math.max(1, wall / ((await work()) - before));
}

export const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.POSITIVE_INFINITY;

export const describeTimes = (times: readonly number[]): string =>
  `${times.map((time) => Math.round(time)).join(', ')} (median ${Math.round(median(times))})`;

/** The processor time that the page's main thread has used so far, in milliseconds. */
export async function workOf(page: Page): Promise<() => Promise<number>> {
  const session = await sessionOf(page);
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
}

const sessions = new WeakMap<Page, Promise<CDPSession>>();

function sessionOf(page: Page): Promise<CDPSession> {
  const session = sessions.get(page) ?? openSession(page);
  sessions.set(page, session);
  return session;
}

async function openSession(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return session;
}

/** The longest time from an input to the paint after it. An action without an input fails: nothing was measured. */
async function paintAfter(page: Page, act: () => Promise<unknown>): Promise<number> {
  await page.evaluate(`(() => {
    window.slowest = Number.NaN;
    if (window.isWatched) return;
    window.isWatched = true;
    const measure = ({ timeStamp }) => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      // The message follows the paint of this frame.
      port1.onmessage = () => { window.slowest = Math.max(window.slowest || 0, performance.now() - timeStamp); };
      port2.postMessage(undefined);
    });
    for (const type of ['pointerdown', 'click', 'keydown', 'input']) addEventListener(type, measure, { capture: true });
  })()`);
  await act();
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 200))))');
  return await page.evaluate<number>('window.slowest');
}
