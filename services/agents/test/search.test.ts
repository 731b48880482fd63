import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { selectAgents } from '../src/agents/store/list-agents.ts';
import { loadAgents } from './bulk-agents.ts';
import { type Composition, compose } from './compose.ts';

const tenant = { organizationId: 'org_a', environment: 'live' } as const;
const count = 600;
let agents: Composition;

beforeAll(async () => {
  agents = await compose();
  const created = Array.from({ length: count }, (_, n) => ({
    name: `Agent ${n}`,
    description: n % 2 === 0 ? 'even' : 'odd',
    category: n % 3 === 0 ? 'third' : '',
    status: n % 5 === 0 ? 'active' : 'draft',
  }));
  await loadAgents(agents.database, tenant, Date.UTC(2026, 0, 1), created);
  await loadAgents(agents.database, { ...tenant, organizationId: 'org_b' }, Date.UTC(2026, 0, 1), created);
  await agents.database.query('analyze');
});
afterAll(() => agents.stop());

/** Walks as if the first page had counted `carried` matches. Few matches are counted again, many are not. */
async function walk(filter: { search: string; category?: string; status?: string }, carried: number): Promise<string[]> {
  const names: string[] = [];
  const full = { tenant, category: filter.category, status: filter.status ?? '', search: filter.search };
  let page = await selectAgents(agents.store.sql, full, 100);
  const total = carried < 1_000 ? page.total : carried;
  for (;;) {
    names.push(...page.rows.slice(0, 100).map(({ name }) => name));
    if (page.rows.length <= 100) return names;
    const last = page.rows[99];
    page = await selectAgents(agents.store.sql, full, 100, { after: [last?.createdAt ?? '', last?.id ?? ''], total: carried });
    expect(page.total).toBe(total);
  }
}

test.each([
  { search: 'EVEN' },
  { search: 'agent 1' },
  { search: 'agent', category: 'third' },
  { search: 'e', status: 'active' },
  { search: 'odd', category: '', status: 'draft' },
])('the pages of %j are the same along the index of the search and along the list', async (filter) => {
  const along = await walk(filter, 0);
  expect(await walk(filter, 1_000_000)).toEqual(along);
  const { rows } = await agents.database.query<{ name: string }>(
    `select name from agents where organization_id = 'org_a' and (name ilike $1 or description ilike $1)
       and ($2::text is null or category = $2) and ($3 = '' or status = $3) order by created_at desc, id desc`,
    [`%${filter.search}%`, filter.category ?? null, filter.status ?? ''],
  );
  expect(along).toEqual(rows.map(({ name }) => name));
  expect(along.length).toBeGreaterThan(100);
});

/** The plans of the statements of a search, prepared for any parameters. */
async function plansOf(search: string): Promise<string> {
  const ids: string[] = [];
  await selectAgents(
    async <Row extends object>(statement: string, values: readonly unknown[] = []): Promise<Row[]> => {
      const client = await agents.database.connect();
      try {
        await client.query('set plan_cache_mode = force_generic_plan');
        const literals = values.map((value) => (Array.isArray(value) ? `'{${value.join(',')}}'` : `'${String(value)}'`));
        await client.query(`prepare asked as ${statement}`);
        const { rows } = await client.query<Record<string, string>>(`explain execute asked(${literals.join(', ')})`);
        ids.push(...rows.map((row) => Object.values(row).join('')));
      } finally {
        client.release(true);
      }
      return [];
    },
    { tenant, category: 'third', status: 'active', search },
    20,
  );
  return ids.join('\n');
}

test('a search uses its index of trigrams also in a generic plan', async () => {
  await agents.database.query(`insert into agents select organization_id || '_' || n, environment, id || n, name, description, category, status, model,
    system_prompt, tables, read_only, default_format, chart_enabled, welcome_message, suggested_prompts, created_by, source_template_id, version,
    created_at, updated_at, folded_name, folded_description, grams from agents cross join generate_series(1, 4) as n`);
  await agents.database.query('analyze agents');
  expect(await plansOf('agent 17')).toMatch(/Bitmap Index Scan on agents_grams_index/);
});
