import { setTimeout as pause } from 'node:timers/promises';

/** Waits for a state of the world, and says which one did not come. */
export async function until(what: string, ask: () => Promise<boolean> | boolean, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`did not happen within ${limitMs} ms: ${what}`);
    await pause(20);
  }
}
