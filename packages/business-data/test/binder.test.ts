import { expect, test } from '@jest/globals';
import { Refusal } from '../src/failure.ts';
import { parseStatement } from '../src/gates/parse.ts';
import { confine } from '../src/gates/pass-gates.ts';
import type { Catalog } from '../src/scope/catalog.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import { catalogNames, catalogNamesQuery, quoted } from './attack/catalog-names.ts';
import { catalogTable, catalogColumn as column } from './support/catalog.ts';
import { databaseOfFile } from './support/database.ts';

const catalog: Catalog = {
  defaultSchema: 'public',
  tables: [
    catalogTable('public', 'items', [column('c1'), column('c2'), column('parts', 'text[]')]),
    catalogTable('public', 'boxes', [column('b1'), column('lines', 'line_item[]')]),
  ],
  effects: [],
};
const { scope } = resolveScope(catalog, { tables: ['items', 'boxes'], readOnly: true });

/** The binder alone, without the lists of allowed functions and types. */
const bindAlone = (statement: unknown) => confine(statement, scope);

const verdictOf = (statement: unknown): 'refused' | 'passed' => {
  try {
    bindAlone(statement);
    return 'passed';
  } catch (cause) {
    if (cause instanceof Refusal) return 'refused';
    throw cause;
  }
};

/** Ways to write `f` so that PostgreSQL reads it as the function or type f applied to a row or a value. */
const spellings: readonly ((f: string) => string)[] = [
  (f) => `select ('x'::text).${f}`,
  (f) => `select (c1).${f} as ${f} from items`,
  (f) => `select (i).${f} from items i`,
  (f) => `select (i.*).${f} as z from items i`,
  (f) => `select ((i)).${f}, ${f} from items i, (select 1 as z) ${f}`,
  (f) => `select i.${f} as ${f} from items i`,
  (f) => `select items.${f} from items, items as ${f}`,
  (f) => `select public.items.${f} from items`,
  (f) => `with ${f} as (select c1 from items) select ${f}.${f} from ${f}`,
  (f) => `with q as (select 'x'::text as v) select q.${f} as ${f} from q`,
  (f) => `select v.${f} from (values ('x'), ('y')) as v(z)`,
  (f) => `select ${f}.${f} from (values ('x')) as ${f}`,
  (f) => `select z.v from (select row_number() over (order by i.${f}) as v from items i) z`,
  (f) => `select sum(1) over (partition by w.${f}) from items w window ${f} as (order by w.c1)`,
  (f) => `select l.z from items i, lateral (select i.${f} as z) l`,
  (f) => `select l.${f} from items i cross join lateral (select i.c1 as z) l`,
  (f) => `select (select i.${f} from boxes) from items i`,
  (f) => `select j.${f} from (items i join boxes b on i.c1 = b.b1) j`,
  (f) => `select u.${f} from items a join items b using (c1) as u`,
  (f) => `select g.${f} from generate_series(1, 2) g`,
  (f) => `select e.${f} from unnest(array['x']) with ordinality as e(z, n)`,
  (f) => `select t.${f} from boxes b, unnest(b.lines) t`,
  (f) => `select s.${f} from (select * from boxes b, unnest(b.lines) as t) s(a, c, d)`,
  (f) => `select i.c1 from items i order by i.${f}`,
  (f) => `select count(*) from items i group by i.${f}`,
  (f) => `select count(*) filter (where i.${f} is null) from items i`,
  (f) => `with recursive r(z) as (select c1 from items union all select r.${f} from r) select z from r`,
  (f) =>
    `with recursive r(z) as (select 1 union all select z from r) search depth first by z set ${f} select q.${f} from (select * from r) q`,
  (f) =>
    `with recursive r(z) as (select 1 union all select r.z from r where r.${f} is not null) search depth first by z set ${f} select 1 from r`,
  (f) => `select q.${f} from (select 1 as z union select 2 as ${f}) q`,
  (f) => `select ${f} from (select c1 from items i, (select 1 as z) ${f}) q where ${f}.z is null`,
  (f) => `select 1 from items i join boxes b on b.${f} is null`,
  (f) => `select i.c1 from items i where exists (select 1 from (select i.${f}) z)`,
  (f) => `select t.${f} from json_table('{}', '$' columns (z text path '$.a')) t`,
  (f) => `select a.c1 from items ${f}, (select ${f}.c1) a`,
  (f) => `select a.${f} from (select c1 as z, c2 from items) a, (select 1 as ${f}) b`,
  (f) => `select count(*) from items i having max(i.${f}) > ''`,
  (f) => `select i.c1 from items i window w as (order by i.${f})`,
  (f) => `select c1 from items limit ('1'::text).${f}`,
  (f) => `select c1 from items offset ('1'::text).${f}`,
  (f) => `values (1) order by ('1'::text).${f}`,
  (f) => `values (1) limit ('1'::text).${f}`,
  (f) => `select c1 from items union select b1 from boxes order by ('1'::text).${f}`,
  (f) => `select c1 from items union select b1 from boxes limit ('1'::text).${f}`,
  (f) => `select c1 from items union select b1 from boxes offset ('1'::text).${f}`,
  (f) => `select sum(1) over (order by c1 rows ('1'::text).${f} preceding) from items`,
  (f) => `select sum(1) over (order by c1 rows between 1 preceding and ('1'::text).${f} following) from items`,
  (f) => `select i.parts[i.${f}] from items i`,
  (f) => `select i.parts[1:i.${f}] from items i`,
  (f) => `select c1 from items tablesample bernoulli (('1'::text).${f})`,
  (f) => `select c1 from items tablesample bernoulli (1) repeatable (('1'::text).${f})`,
  (f) => `select t.z from items i, json_table('{}', '$' columns (z text path '$.a' default i.${f} on empty)) t`,
];

const placeholder = 'placeholder_name';
/** Parsed once each, which also shows that none is refused for its syntax. */
const trees = spellings.map((spell) => ({
  text: spell(quoted(placeholder)),
  json: JSON.stringify(parseStatement(spell(quoted(placeholder)))),
}));

/** The tree with another name in place of the placeholder. */
const withName = (json: string, name: string): unknown => JSON.parse(json.replaceAll(`"${placeholder}"`, JSON.stringify(name)));

/** Every name is tried in one of so many spellings, in turn, so that each spelling has names of each letter. */
const everySpelling = Number(process.env['BINDER_EVERY_SPELLING'] ?? 4);

const passing = (names: readonly string[]): string[] =>
  names.flatMap((name, at) =>
    trees
      .filter(({ json }, index) => (at + index) % everySpelling === 0 && verdictOf(withName(json, name)) === 'passed')
      .map(({ text }) => text.replaceAll(placeholder, name)),
  );

test('no spelling of a one-argument function or of a type, of any supported version, passes the binder', () => {
  const names = catalogNames('function', 'type');
  expect(names.length).toBeGreaterThan(1_500);
  expect(passing(names)).toEqual([]);
});

test('no name of a system column or operator passes the binder', () => {
  expect(passing(catalogNames('column', 'operator'))).toEqual([]);
});

test('each spelling passes with the name of a real column', () => {
  const real = [
    'select i.c1 as c1 from items i',
    'select public.items.c1 from items',
    'with q as (select c1 as pg_sleep from items) select q.pg_sleep from q',
    'select v.ts_stat from (values (1)) as v(ts_stat)',
    'select l.version from items i cross join lateral (select i.c1 as version) l',
    'select u.c1 from items a join items b using (c1) as u',
    'select t.sku from boxes b, unnest(b.lines) t(sku)',
    'with recursive r(z) as (select 1 union all select z + 1 from r) search depth first by z set age select r.age from r',
    "select t.lower from json_table('{}', '$' columns (lower text path '$.a')) t",
    'select e.tag, e.ordinality from items i, unnest(i.parts) with ordinality e(tag)',
    'select part.part from items i, unnest(i.parts) as part',
    'select count(i), count(i.*), row_to_json(i), i::text from items i',
  ];
  expect(real.filter((text) => verdictOf(parseStatement(text)) === 'refused')).toEqual([]);
});

const database = databaseOfFile();

test('the list of names contains those of the running server', async () => {
  const { rows } = await database.administrator.query<{ '?column?': string }>(catalogNamesQuery);
  const known = new Set(
    (['function', 'type', 'column', 'operator'] as const).flatMap((kind) => catalogNames(kind).map((name) => `${kind} ${name}`)),
  );
  expect(rows.map((row) => row['?column?']).filter((name) => !known.has(name))).toEqual([]);
});
