import { createDataSource, createStatementGate, type DataSource, resolveScope, type TenantGate } from '@agent-service/business-data';
import { passGates } from '@agent-service/business-data/gates/pass-gates';
import pg from 'pg';
import { startDurablePostgres } from '../durable-postgres.ts';
import { median, type Scenario, timeInTurns } from '../scenario.ts';

const gateWarmUps = 500;
const gateRepetitions = 2_000;
/** Statements of one tenant at once. */
const atOnce = 8;
const warmUps = 50;
const repetitions = 200;
const limits = { timeoutMs: 10_000, maxRows: 1_000, maxBytes: 1024 * 1024, timeZone: 'UTC' };

const data = `
create table customers (id integer primary key, name text, region text, secret text);
create table orders (id integer primary key, customer_id integer, status text, total numeric(12, 2), placed_at timestamptz, secret text);
insert into customers select n, 'Customer ' || n, (array['North', 'South', 'East', 'West'])[1 + n % 4], 'x' from generate_series(1, 500) n;
insert into orders select n, 1 + n % 500, (array['placed', 'shipped', 'returned'])[1 + n % 3], n % 1000, timestamptz '2025-01-01' + n * interval '1 hour', 'x'
  from generate_series(1, 30000) n;
analyze;`;

/** A statement that a model writes when it is asked for revenue by region and month: a CTE, a join, aggregates with a filter, a window. */
const typical = `
with monthly as (
  select c.region, date_trunc('month', o.placed_at) as month, sum(o.total) as revenue, count(*) filter (where o.status = 'returned') as returned
  from orders o join customers c on c.id = o.customer_id
  where o.placed_at >= date '2025-01-01' and o.status <> 'draft'
  group by c.region, date_trunc('month', o.placed_at)
)
select region, month::date, revenue, returned, revenue - lag(revenue) over (partition by region order by month) as change
from monthly order by region, month limit 100`;

const direct = { text: typical, rowMode: 'array', queryMode: 'extended' } as const;

interface Measured {
  /** Parse, rewrite and comparison alone, in this thread. */
  inProcess: number[];
  /** The same through the gate's thread: one statement after the other, and several at once. */
  serial: number[];
  concurrent: number[];
  /** Through the gate and run, against run directly. */
  through: number[];
  direct: number[];
}

/** The cost of the checks that keep a query inside its agent's scope. */
export const queryGates: Scenario = {
  name: 'query-gates',
  about:
    'a typical analytic statement through the thread of the gates, and the whole way to its rows against the same statement run directly',
  async run(say) {
    const postgres = await startDurablePostgres();
    const client = new pg.Client({ connectionString: postgres.url });
    // A signal stops the server first: an error event without a listener would end this process before its clean-up.
    client.on('error', () => undefined);
    await client.connect();
    await client.query(data);
    const source = createDataSource({ url: postgres.url, poolMax: 1 }, (cause) => say(String(cause)));
    const gate = createStatementGate();
    try {
      const measured = await measure(source, gate.of('bench'), client);
      const [inProcess, serial, concurrent] = [median(measured.inProcess), median(measured.serial), median(measured.concurrent)];
      const [gated, plain] = [median(measured.through), median(measured.direct)];
      // Pairs run one after the other, so that other load of the machine slows both.
      const ratio = median(measured.through.map((duration, index) => duration / (measured.direct[index] ?? Number.NaN)));
      say(
        `gates in process ${inProcess.toFixed(3)} ms, in a thread ${serial.toFixed(3)} ms, ${concurrent.toFixed(3)} ms each of ${atOnce} at once`,
      );
      say(`through the gates ${gated.toFixed(3)} ms, directly ${plain.toFixed(3)} ms (medians of ${repetitions})`);
      return {
        promises: [
          { name: 'milliseconds of a statement in the gates', measured: serial, atMost: 1 },
          { name: 'one of several statements at once in a thread, times in process', measured: concurrent / inProcess, atMost: 1.3 },
          { name: 'query through the gates, times directly', measured: ratio, atMost: 1.5 },
        ],
        figures: { gateRepetitions, repetitions, inProcess, serial, concurrent, gated, plain },
      };
    } finally {
      await gate.close();
      await source.close();
      await client.end();
      await postgres.stop();
    }
  },
};

async function measure(source: DataSource, gate: TenantGate, client: pg.Client): Promise<Measured> {
  const { scope } = resolveScope(await source.catalog(), {
    tables: ['customers(id, name, region)', 'orders(id, customer_id, status, total, placed_at)'],
    readOnly: true,
  });
  const steps = {
    inProcess: async () => passGates(typical, scope),
    serial: () => gate.pass(typical, scope),
    concurrent: () => Promise.all(Array.from({ length: atOnce }, () => gate.pass(typical, scope))),
    through: () => source.transaction('read only', limits, async (run) => run((await gate.pass(typical, scope)).text)),
    direct: () => client.query(direct),
  };
  const [inProcess = []] = await timeInTurns([steps.inProcess], { warmUps: gateWarmUps, measured: gateRepetitions });
  const [serial = []] = await timeInTurns([steps.serial], { warmUps: gateWarmUps, measured: gateRepetitions });
  const [together = []] = await timeInTurns([steps.concurrent], { warmUps: gateWarmUps / atOnce, measured: gateRepetitions / atOnce });
  const [through = [], plain = []] = await timeInTurns([steps.through, steps.direct], { warmUps, measured: repetitions });
  return { inProcess, serial, concurrent: together.map((duration) => duration / atOnce), through, direct: plain };
}
