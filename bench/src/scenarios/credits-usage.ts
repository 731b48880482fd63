import { type History, innerRange, startHistory, wholeRange } from '../credits/usage-history.ts';
import { startDurablePostgres } from '../durable-postgres.ts';
import { mediansInTurns, type Promised, type Scenario, timed } from '../scenario.ts';

const records = Number(process.env['BENCH_USAGE_RECORDS'] ?? 10_000_000);
const fewRecords = Math.min(100_000, records);
const rounds = { warmUps: 1, measured: 25 };
/** Deep in the list, or as deep as it is. */
const farPage = Math.min(10_000, Math.floor(records / 100));

type Read = 'day' | 'user' | 'summary';

const names: Record<Read, string> = {
  day: 'group_by=day over 90 days',
  user: 'group_by=user over 90 days',
  summary: 'summary',
};

const readers = ({ reads }: History): Record<Read, () => Promise<unknown>> => ({
  day: () => reads.groupBy('day', wholeRange),
  user: () => reads.groupBy('user', wholeRange),
  summary: () => reads.summary(),
});

/** The cost of reading usage when there is a hundred times more of it. */
export const creditsUsage: Scenario = {
  name: 'credits-usage',
  about: `aggregates and lists over ${records} usage records, against GROUP BY over them and against ${fewRecords} records`,
  async run(say) {
    const postgres = await startDurablePostgres();
    const stops: (() => Promise<void>)[] = [postgres.stop];
    try {
      const few = await startHistory(postgres.url, 'few', fewRecords);
      stops.push(few.stop);
      const many = await startHistory(postgres.url, 'many', records);
      stops.push(many.stop);
      say('loaded');
      const promises = [...(await measureReads(many, few, say)), await measurePages(many)];
      return {
        promises,
        figures: { records, fewRecords, rounds: rounds.measured, userOverInnerDaysTimesFew: await measureInner(many, few) },
      };
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

async function measureReads(many: History, few: History, say: (line: string) => void): Promise<Promised[]> {
  const promises: Promised[] = [];
  for (const read of Object.keys(names) as Read[]) {
    const [ofMany, ofFew] = await mediansInTurns(readers(many)[read], readers(few)[read], rounds);
    const growth = ofMany / ofFew;
    const gain = (await timed(many.floor[read])) / ofMany;
    say(`${names[read]}: ${gain.toFixed(0)} times faster than GROUP BY, ${growth.toFixed(2)} times its time on few`);
    promises.push(
      { name: `${names[read]}, times faster than GROUP BY over the records`, measured: gain, atLeast: 100 },
      { name: `${names[read]}, times its own time on ${fewRecords} records`, measured: growth, atMost: 1.5 },
    );
  }
  return promises;
}

/** A range that neither begins nor ends with the history has the most to look up. */
async function measureInner(many: History, few: History): Promise<number> {
  const [ofMany, ofFew] = await mediansInTurns(
    () => many.reads.groupBy('user', innerRange),
    () => few.reads.groupBy('user', innerRange),
    rounds,
  );
  return ofMany / ofFew;
}

async function measurePages({ reads, cursorOf }: History): Promise<Promised> {
  const cursor = await cursorOf(farPage);
  const [first, far] = await mediansInTurns(
    () => reads.page(''),
    () => reads.page(cursor),
    rounds,
  );
  return { name: `page ${farPage} of the list, times page 1`, measured: far / first, atMost: 1.5 };
}
