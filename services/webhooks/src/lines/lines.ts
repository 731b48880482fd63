import { randomUUID } from 'node:crypto';
import type { DeliveriesJob, Producer } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';
import { type EndpointKey, endpointKeyText } from '../store/keys.ts';
import { type Armed, type ArmedBy, armLines, type WithJobs } from '../store/line.ts';

const endpointsAtOnce = 500;

export interface Alarm extends Armed {
  delayMs: number;
}

/** The lines of deliveries before their endpoints, and the jobs that call dispatchers. */
export interface Lines {
  /** Something may be due for these endpoints, or their lanes may have room: sends on what can go. Never waits. */
  nudge(endpoints: Iterable<EndpointKey>): void;
  /** Sets alarm clocks for deliveries that wait for their time. Never waits. */
  ring(alarms: readonly Alarm[]): void;
}

export interface LinesOptions {
  process: ProcessContext;
  store: Store;
  jobs: Producer<DeliveriesJob>;
  now: () => number;
}

/**
 * Nudges that come while one round is out make the next. What goes wrong here is only told: the rows say what is to be
 * done, and the reconciler does it.
 */
export function createLines({ process, store, jobs, now }: LinesOptions): Lines {
  const waiting = new Map<string, EndpointKey>();
  let alarms: Alarm[] = [];
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (waiting.size > 0 || alarms.length > 0) {
      const [endpoints, ringing] = [takeEndpoints(), alarms];
      alarms = [];
      try {
        const armed = endpoints.length > 0 ? await armLines(store.sql, withJobs(endpoints), now()) : [];
        await jobs.add([...jobsOf(armed).map((payload) => ({ payload })), ...ringing.map(alarmJob)]);
      } catch (cause) {
        process.logger.warn({ event: 'deliveries_not_armed', endpoints: endpoints.length, err: cause });
      }
    }
  }

  function takeEndpoints(): EndpointKey[] {
    const taken = [...waiting.entries()].slice(0, endpointsAtOnce);
    for (const [text] of taken) waiting.delete(text);
    return taken.map(([, endpoint]) => endpoint);
  }

  function start(): void {
    running ??= Promise.resolve()
      .then(run)
      .finally(() => {
        running = undefined;
      });
  }

  process.onStop('lines', async () => running);
  return {
    nudge(endpoints) {
      for (const endpoint of endpoints) waiting.set(endpointKeyText(endpoint), endpoint);
      if (waiting.size > 0) start();
    },
    ring(more) {
      alarms.push(...more);
      if (alarms.length > 0) start();
    },
  };
}

/** So many endpoints share a job. */
const endpointsAJob = 8;

/**
 * What goes out at once goes by few jobs, since each costs more than what it carries. A job is there until the last of its
 * deliveries has ended, so an endpoint that may hang gets one of its own.
 */
function withJobs(endpoints: readonly EndpointKey[]): WithJobs[] {
  let shared = '';
  return endpoints.map((endpoint, index) => {
    if (index % endpointsAJob === 0) shared = randomUUID();
    return { ...endpoint, shared, own: randomUUID() };
  });
}

/** The jobs that these deliveries went by, each once. */
export function jobsOf(armed: readonly ArmedBy[]): DeliveriesJob[] {
  const byJob = Map.groupBy(armed, ({ job }) => job);
  return [...byJob.values()].map((together) => jobOf(together as [ArmedBy, ...ArmedBy[]]));
}

const jobOf = (together: readonly [ArmedBy, ...ArmedBy[]]): DeliveriesJob => ({
  job: together[0].job,
  deliveries: together.map(({ organizationId, environment, deliveryId, dispatch }) => ({
    organizationId,
    environment,
    deliveryId,
    dispatch,
  })),
});

const alarmJob = ({ delayMs, ...armed }: Alarm) => ({
  payload: jobOf([{ ...armed, job: `${armed.deliveryId}-${armed.dispatch}` }]),
  delayMs,
});
