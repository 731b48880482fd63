import { setTimeout as pause } from 'node:timers/promises';
import { OperatorFault, reasonOf } from '@agent-service/runtime/failures';

/** Repeats the question until it is answered with true; returns false after the limit. */
export async function until(ask: () => Promise<boolean> | boolean, limitMs: number, everyMs = 25): Promise<boolean> {
  const end = performance.now() + limitMs;
  for (;;) {
    if (await ask()) return true;
    if (performance.now() >= end) return false;
    await pause(everyMs);
  }
}

/** Tries the work again until it succeeds, and says why it waits whenever the reason changes. After the limit it fails with this text and the last reason. */
export async function untilSucceeded(
  work: () => Promise<unknown>,
  failureText: string,
  { limitMs, everyMs }: { limitMs: number; everyMs: number },
): Promise<void> {
  let failure: unknown;
  let reason: string | undefined;
  const succeeds = () =>
    work().then(
      () => true,
      (cause: unknown) => {
        failure = cause;
        if (reason !== reasonOf(cause)) {
          reason = reasonOf(cause);
          process.stderr.write(`${failureText}, and is tried again for up to ${limitMs / 1_000} s: ${reason}\n`);
        }
        return false;
      },
    );
  if (await until(succeeds, limitMs, everyMs)) return;
  throw new OperatorFault(`${failureText} after ${limitMs / 1_000} s: ${reasonOf(failure)}`, { cause: failure });
}
