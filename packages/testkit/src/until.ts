import { setTimeout as pause } from 'node:timers/promises';

/** Repeats the check until it is true. A check that throws counts as false; past the limit the error names the condition and the last cause. */
export async function until(condition: string, check: () => Promise<boolean>, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  let reason: unknown;
  while (performance.now() < end) {
    try {
      if (await check()) return;
      reason = undefined;
    } catch (cause) {
      reason = cause;
    }
    await pause(25);
  }
  throw new Error(`${condition}: not within ${limitMs} ms`, { cause: reason });
}
