import { setTimeout as pause } from 'node:timers/promises';

/** Repeats the question until it is answered with true; returns false after the limit. */
export async function until(ask: () => Promise<boolean> | boolean, limitMs: number, everyMs = 25): Promise<boolean> {
  const end = performance.now() + limitMs;
  for (;;) {
    if (await ask()) return true;
    if (performance.now() >= end) return false;
    await pause(everyMs);
  }
}
