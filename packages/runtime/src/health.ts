import { withTimeout } from '@agent-service/work';

const checkLimitMs = 1_500;

interface HealthReport {
  ready: boolean;
  /** What is wrong, by name of the check; empty when all is well. */
  faults: Record<string, string>;
}

export interface Health {
  /** A check throws when what it looks at can not serve. */
  addCheck(name: string, check: () => Promise<unknown>): void;
  /** Started and not stopping. */
  markReady(): void;
  markStopping(): void;
  report(): Promise<HealthReport>;
}

/** Liveness is the process answering at all; readiness is every check passing between start and stop. */
export function createHealth(): Health {
  const checks = new Map<string, () => Promise<unknown>>();
  let state: 'starting' | 'ready' | 'stopping' = 'starting';
  let running: Promise<HealthReport> | undefined;

  async function runChecks(): Promise<HealthReport> {
    const outcomes = await Promise.all([...checks].map(async ([name, check]) => [name, await faultOf(check)] as const));
    const faults = Object.fromEntries(outcomes.flatMap(([name, fault]) => (fault === undefined ? [] : [[name, fault]])));
    return { ready: Object.keys(faults).length === 0, faults };
  }

  return {
    addCheck: (name, check) => void checks.set(name, check),
    markReady: () => void (state = 'ready'),
    markStopping: () => void (state = 'stopping'),
    async report() {
      if (state !== 'ready') return { ready: false, faults: { process: state } };
      // Probes that come while one is under way share it, so that probing can not become load.
      running ??= runChecks().finally(() => (running = undefined));
      return running;
    },
  };
}

async function faultOf(check: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await withTimeout(check(), checkLimitMs, () => new Error(`no answer within ${checkLimitMs} ms`));
    return undefined;
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}
