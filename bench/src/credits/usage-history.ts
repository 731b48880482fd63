import { Pool } from 'pg';
import { type BulkUsage, loadBulk } from '../../../services/credits/test/usage-bulk.ts';
import { openUsageReads, type Range, type UsageReads } from './usage-reads.ts';

const organizationId = 'org_01jz0000000000000000000000';
const firstDay = '2026-08-23';
const days = 90;
/** The last instant of the last day. */
const now = Date.parse('2026-11-20T23:59:59.999Z');

export const wholeRange: Range = { dateFrom: firstDay, dateTo: '2026-11-20' };
/** Begins and ends inside the history. */
export const innerRange: Range = { dateFrom: '2026-09-10', dateTo: '2026-11-01' };
const month: Range = { dateFrom: '2026-11-01', dateTo: '2026-11-20' };

const shape: Omit<BulkUsage, 'records'> = {
  organizationId,
  users: 2_000,
  agents: 50,
  agentsOfUser: 10,
  firstDay,
  days,
  querySummary: 'Which ten customers bought the most in the last quarter, by region?',
};

const byTier = ['Fast', 'Smart', 'Expert', 'Premium'].map((tier) => `sum(credits) filter (where tier = '${tier}')`).join(', ');

export interface History {
  reads: UsageReads;
  /** The aggregate that each read answers, by GROUP BY over the records. */
  floor: Record<'day' | 'user' | 'summary', () => Promise<unknown>>;
  /** The cursor of a page, counted from 1. */
  cursorOf(page: number): Promise<string>;
  stop(): Promise<void>;
}

/** A database of its own with that many records: the same users, agents and days for any number of records. */
export async function startHistory(clusterUrl: string, name: string, records: number): Promise<History> {
  const url = new URL(clusterUrl);
  const cluster = new Pool({ connectionString: clusterUrl, max: 1 });
  await cluster.query(`create database ${name}`);
  await cluster.end();
  url.pathname = `/${name}`;
  const reads = await openUsageReads(url.href, organizationId, now);
  const pool = new Pool({ connectionString: url.href, max: 2, options: '-c search_path=credits -c timezone=UTC' });
  await loadBulk(pool, { ...shape, records });
  await pool.query('vacuum (analyze)');
  await pool.query('checkpoint');
  const grouped = (key: string, partners: string, { dateFrom, dateTo }: Range) =>
    pool.query(
      `select ${key} as key, sum(credits), count(*), count(distinct ${partners}), max(at), ${byTier} from usage_records
       where organization_id = $1 and environment = 'live' and at >= $2::date and at < $3::date + 1 group by 1 order by 2 desc`,
      [organizationId, dateFrom, dateTo],
    );
  return {
    reads,
    floor: {
      day: () => grouped('at::date', 'user_id', wholeRange),
      user: () => grouped('user_id', 'agent_id', wholeRange),
      summary: () => grouped('agent_id', 'user_id', month),
    },
    async cursorOf(page) {
      const { rows } = await pool.query<{ at: Date; id: string }>(
        `select at, id from usage_records where organization_id = $1 and environment = 'live' order by at desc, id desc offset $2 limit 1`,
        [organizationId, (page - 1) * 50 - 1],
      );
      const [row] = rows;
      if (!row) throw new Error(`there is no page ${page}`);
      return reads.cursorBehind(row.at.toISOString(), row.id);
    },
    async stop() {
      await pool.end();
      await reads.stop();
    },
  };
}
