import { createDataSource, type DataSource, resolveScope } from '@agent-service/business-data';
import { passGates } from '@agent-service/business-data/sql/gates';
import pg from 'pg';
import { startDurablePostgres } from '../durable-postgres.ts';
import { median, type Scenario } from '../scenario.ts';

const gateWarmUps = 500;
const gateRepetitions = 2_000;
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

/** What a model asks when it is asked for revenue by region and month: a CTE, a join, aggregates with a filter, a window. */
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
  gates: number[];
  through: number[];
  direct: number[];
}

/** What it costs that a query can read nothing outside of its agent's scope. */
export const queryGates: Scenario = {
  name: 'query-gates',
  about: 'parse and rewrite of a typical analytic statement, and the whole way through the gates against the same statement run directly',
  async run(say) {
    const postgres = await startDurablePostgres();
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query(data);
    const source = createDataSource({ url: postgres.url, poolMax: 1 }, (cause) => say(String(cause)));
    try {
      const { gates, through, direct } = await measure(source, client);
      const [gate, gated, plain] = [median(gates), median(through), median(direct)];
      // Of neighbours in time: what else the machine does falls on both.
      const ratio = median(through.map((duration, index) => duration / (direct[index] ?? Number.NaN)));
      say(
        `gates ${gate.toFixed(3)} ms, through the gates ${gated.toFixed(3)} ms, directly ${plain.toFixed(3)} ms (medians of ${repetitions})`,
      );
      return {
        promises: [
          { name: 'milliseconds of parse and rewrite', measured: gate, atMost: 1 },
          { name: 'query through the gates, times directly', measured: ratio, atMost: 1.5 },
        ],
        figures: { gateRepetitions, repetitions, gate, gated, plain },
      };
    } finally {
      await source.close();
      await client.end();
      await postgres.stop();
    }
  },
};

async function measure(source: DataSource, client: pg.Client): Promise<Measured> {
  const { scope } = resolveScope(await source.catalog(), {
    tables: ['customers(id, name, region)', 'orders(id, customer_id, status, total, placed_at)'],
    readOnly: true,
  });
  const steps = {
    gates: async () => passGates(typical, scope),
    through: () => source.transaction('read only', limits, (run) => run(passGates(typical, scope).text)),
    direct: () => client.query(direct),
  };
  const gates = await durations([steps.gates], gateWarmUps, gateRepetitions);
  const both = await durations([steps.through, steps.direct], warmUps, repetitions);
  return { gates: gates[0] ?? [], through: both[0] ?? [], direct: both[1] ?? [] };
}

/** Of each step in turn, so that what else the machine does falls on all. */
async function durations(steps: readonly (() => Promise<unknown>)[], warmUp: number, count: number): Promise<number[][]> {
  const measured: number[][] = steps.map(() => []);
  for (let round = 0; round < warmUp + count; round += 1) {
    for (const [index, step] of steps.entries()) {
      const begin = performance.now();
      await step();
      if (round >= warmUp) measured[index]?.push(performance.now() - begin);
    }
  }
  return measured;
}
