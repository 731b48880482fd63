import { Client } from 'pg';

/** One run of a statement. */
export interface StatementRun {
  readonly statement: string;
  /** Rows that its scans read, those included that they left out again. */
  readonly rowsRead: number;
  /** The plan, a line a node. */
  readonly plan: string;
}

type Sql = <Row extends object>(statement: string, values?: readonly unknown[]) => Promise<Row[]>;

/** A store over one connection that records how its statements run. */
export interface RecordingStore {
  readonly sql: Sql;
  transaction<T>(work: (transaction: { readonly sql: Sql }) => Promise<T>): Promise<T>;
  /** The statements that ran during the work. */
  record(work: () => Promise<unknown>): Promise<StatementRun[]>;
  end(): Promise<void>;
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

const quiet = [
  `load 'auto_explain'`,
  'set auto_explain.log_min_duration = 0',
  'set auto_explain.log_analyze = on',
  'set auto_explain.log_timing = off',
  'set auto_explain.log_format = json',
  `set auto_explain.log_level = 'notice'`,
  'set plan_cache_mode = force_generic_plan',
  'set random_page_cost = 1.1',
  'set jit = off',
];

/**
 * Statements are prepared once, as services prepare them, and planned for any parameters: what runs first over empty
 * tables keeps the plan that was made for those.
 */
export async function recordingStore(url: string, schema: string): Promise<RecordingStore> {
  const client = new Client({ connectionString: url, options: `-c search_path=${schema} -c timezone=UTC` });
  await client.connect();
  for (const statement of quiet) await client.query(statement);
  const names = new Map<string, string>();
  let runs: StatementRun[] = [];
  client.on('notice', ({ message = '' }) => {
    const json = message.slice(message.indexOf('{'));
    if (!message.startsWith('duration:') || json === message) return;
    const { 'Query Text': statement, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode };
    runs.push({ statement, rowsRead: rowsReadBy(plan), plan: formatPlan(plan) });
  });
  const sql: Sql = async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    const name = names.get(text) ?? `s${names.size}`;
    names.set(text, name);
    return (await client.query<Row>({ name, text, values: [...values] })).rows;
  };
  return {
    sql,
    async transaction(work) {
      await client.query('begin');
      try {
        const result = await work({ sql });
        await client.query('commit');
        return result;
      } catch (cause) {
        await client.query('rollback');
        throw cause;
      }
    },
    async record(work) {
      runs = [];
      await work();
      return runs;
    },
    end: () => client.end(),
  };
}

const isScan = (node: PlanNode) => node['Node Type'].endsWith('Scan') && (node['Relation Name'] ?? node['Index Name']) !== undefined;

function rowsReadBy(node: PlanNode): number {
  const own = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsReadBy(child), 0);
  return below + (isScan(node) ? Math.round(own * node['Actual Loops']) : 0);
}

function formatPlan(node: PlanNode, depth = 0): string {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '', 'Actual Rows': rows, 'Actual Loops': loops } = node;
  const removed = node['Rows Removed by Filter'] ?? 0;
  const line = `${'  '.repeat(depth)}${type} ${table} ${index} rows=${rows} removed=${removed} loops=${loops}`;
  return [line, ...(node.Plans ?? []).map((child) => formatPlan(child, depth + 1))].join('\n');
}

export interface PlannedSteps {
  readonly steps: Readonly<Record<string, () => Promise<unknown>>>;
  /** Statements that fill the tables. */
  readonly grow: readonly string[];
}

/** The rows that each step's statements read in full tables, planned while the tables were empty and again with statistics. */
export async function recordSteps(
  store: RecordingStore,
  schema: string,
  { steps, grow }: PlannedSteps,
): Promise<Map<string, StatementRun[]>> {
  const runs = new Map<string, StatementRun[]>();
  for (const { name } of await store.sql<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relkind = 'r' and relnamespace = '${schema}'::regnamespace`,
  ))
    await store.sql(`alter table ${name} set (autovacuum_enabled = false)`);
  for (const step of Object.values(steps)) await step();
  for (const statement of grow) await store.sql(statement);
  for (const [name, step] of Object.entries(steps)) runs.set(name, await store.record(step));
  // Statistics have the statements planned again.
  await store.sql('analyze');
  for (const [name, step] of Object.entries(steps)) runs.set(name, [...(runs.get(name) ?? []), ...(await store.record(step))]);
  return runs;
}
