import { setTimeout as pause } from 'node:timers/promises';

/** Asks again until the answer is yes. A question that can not be asked yet counts as no; the limit tells what was waited for and why it was no. */
export async function until(what: string, question: () => Promise<boolean>, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  let reason: unknown;
  while (performance.now() < end) {
    try {
      if (await question()) return;
      reason = undefined;
    } catch (cause) {
      reason = cause;
    }
    await pause(25);
  }
  throw new Error(`${what}: not within ${limitMs} ms`, { cause: reason });
}
