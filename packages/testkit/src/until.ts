import { setTimeout as pause } from 'node:timers/promises';

type Check = () => boolean | Promise<boolean>;

/** Within the time limit of a test. It only ends a test that fails: a busy machine may take long for what is right. */
const defaultLimitMs = 60_000;

/**
 * Repeats the check until it is true. A check that throws counts as false; past the limit the error names the condition, by default with
 * the text of the check, and the last cause.
 */
export function until(condition: string, check: Check, limitMs?: number): Promise<void>;
export function until(check: Check, limitMs?: number): Promise<void>;
export async function until(first: string | Check, second?: Check | number, third?: number): Promise<void> {
  const [condition, check, limitMs = defaultLimitMs] =
    typeof first === 'string' ? [first, second as Check, third] : [first.toString(), first, second as number | undefined];
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
