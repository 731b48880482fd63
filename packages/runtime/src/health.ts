import { withTimeout } from '@agent-service/work';
import { rootReasonOf } from './failures.ts';
import type { Logger } from './log.ts';

const checkLimitMs = 1_500;
/** Outages are logged from this duration on: a process that starts is unready for a moment. */
const loggedAfterMs = 1_000;

interface HealthReport {
  ready: boolean;
  /** The failure of each failed check, by the check's name. */
  faults: Record<string, string>;
}

export interface Health {
  /** A check throws if the process cannot serve. */
  addCheck(name: string, check: () => Promise<unknown>): void;
  /** While it is true the process serves, but worse than another replica may, as without a service that only this process does not reach. */
  addImpairment(isImpaired: () => boolean): void;
  readonly isImpaired: boolean;
  /** Call it when the process has started. */
  markReady(): void;
  markStopping(): void;
  /** With `toleratedMs` checks that have not failed for so long leave the process ready; the report still names them. */
  report(toleratedMs?: number): Promise<HealthReport>;
}

/** A process is ready between its start and its stop while every check passes. The log names the checks that fail in an outage. */
export function createHealth(logger: Pick<Logger, 'warn' | 'info'>, now = () => performance.now()): Health {
  const checks = new Map<string, () => Promise<unknown>>();
  const impairments: (() => boolean)[] = [];
  let state: 'starting' | 'ready' | 'stopping' = 'starting';
  let running: Promise<HealthReport> | undefined;
  let unreadySince: number | undefined;
  let isLogged = false;

  async function runChecks(): Promise<HealthReport> {
    const outcomes = await Promise.all([...checks].map(async ([name, check]) => [name, await faultOf(check)] as const));
    const faults = Object.fromEntries(outcomes.flatMap(([name, fault]) => (fault === undefined ? [] : [[name, fault]])));
    const ready = Object.keys(faults).length === 0;
    logOutage(ready, faults);
    return { ready, faults };
  }

  /** The metric says that a process was unready; after the outage only the log says why. */
  function logOutage(ready: boolean, faults: Record<string, string>): void {
    if (ready && isLogged) logger.info({ event: 'ready' });
    unreadySince = ready ? undefined : (unreadySince ?? now());
    const isDue = unreadySince !== undefined && now() - unreadySince >= loggedAfterMs;
    if (isDue && !isLogged) logger.warn({ event: 'unready', faults });
    isLogged = isDue;
  }

  return {
    addCheck: (name, check) => void checks.set(name, check),
    addImpairment: (isImpaired) => void impairments.push(isImpaired),
    get isImpaired() {
      return impairments.some((isImpaired) => isImpaired());
    },
    markReady: () => void (state = 'ready'),
    markStopping: () => void (state = 'stopping'),
    async report(toleratedMs = 0) {
      if (state !== 'ready') return { ready: false, faults: { process: state } };
      // Probes that arrive during a check share its result, so that probing cannot become load.
      running ??= runChecks().finally(() => (running = undefined));
      const report = await running;
      const isTolerated = unreadySince !== undefined && now() - unreadySince < toleratedMs;
      return isTolerated ? { ...report, ready: true } : report;
    },
  };
}

async function faultOf(check: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await withTimeout(check(), checkLimitMs, () => new Error(`no answer within ${checkLimitMs} ms`));
    return undefined;
  } catch (cause) {
    return rootReasonOf(cause);
  }
}
