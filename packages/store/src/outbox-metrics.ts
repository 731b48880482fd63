import type { ProcessContext } from '@agent-service/runtime';
import type { Store } from './store.ts';
import { startSweep } from './sweep.ts';

const everyMs = 15_000;
/** Counting stops here, so that its cost does not grow with a backlog. */
const mostCounted = 10_000;

interface Measured {
  waiting: number;
  waitingSeconds: number;
  dead: number;
  deadSeconds: number;
}

const statement = `
  select (select count(*)::int from (select 1 from outbox where topic = $1 limit ${mostCounted}) as counted) as waiting,
    coalesce((select extract(epoch from now() - created_at)::float8 from outbox where topic = $1 order by topic, id limit 1), 0) as "waitingSeconds",
    (select count(*)::int from (select 1 from dead_letters where topic = $1 limit ${mostCounted}) as counted) as dead,
    coalesce((select extract(epoch from now() - dead_at)::float8 from dead_letters where topic = $1 order by topic, dead_at limit 1), 0)
      as "deadSeconds"`;

/** Tells by metrics how much a topic has waiting and set aside (at most 10,000 are counted), and how old the oldest is. */
export function measureOutbox(process: ProcessContext, { sql }: Pick<Store, 'sql'>, topic: string): void {
  const gauge = (name: string, help: string) => gaugeOf(process, name, help);
  const waiting = gauge('outbox_messages', 'Messages that wait to be delivered');
  const waitingSeconds = gauge('outbox_oldest_message_seconds', 'Age of the oldest message that waits to be delivered');
  const dead = gauge('outbox_dead_letters', 'Messages that their receiver refused and that were set aside');
  const deadSeconds = gauge('outbox_oldest_dead_letter_seconds', 'How long ago the oldest dead letter was set aside');
  startSweep(process, `outbox metrics ${topic}`, everyMs, async () => {
    const [row] = await sql<Measured>(statement, [topic]);
    waiting.set({ topic }, row?.waiting ?? 0);
    waitingSeconds.set({ topic }, row?.waitingSeconds ?? 0);
    dead.set({ topic }, row?.dead ?? 0);
    deadSeconds.set({ topic }, row?.deadSeconds ?? 0);
    return 0;
  });
}

type Gauge = ReturnType<ProcessContext['metrics']['gauge']>;

/** A process may have a relay for each of several topics: they share their metrics. */
function gaugeOf({ metrics }: ProcessContext, name: string, help: string): Gauge {
  return (metrics.registry.getSingleMetric(name) as Gauge | undefined) ?? metrics.gauge(name, help, ['topic']);
}
