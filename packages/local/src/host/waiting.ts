import { setTimeout as pause } from 'node:timers/promises';

/** Asks again and again until the answer is yes; answers no when the time is up. */
export async function until(ask: () => Promise<boolean> | boolean, limitMs: number, everyMs = 25): Promise<boolean> {
  const end = performance.now() + limitMs;
  for (;;) {
    if (await ask()) return true;
    if (performance.now() >= end) return false;
    await pause(everyMs);
  }
}
