import { randomFrom } from '@agent-service/testkit/random';
import { catalogNames, quoted } from './catalog-names.ts';

/** The number of generated statements: ATTACK_STATEMENTS is an option of the long form. */
export const attackStatements = Number(process.env['ATTACK_STATEMENTS'] || 3_000);

/** Draws from a seed, so that a run can be repeated. */
interface Draw {
  below(limit: number): number;
  chance(share: number): boolean;
  one<T>(items: readonly T[]): T;
}

const numbers = 2 ** 32;

export function createDraw(seed: number): Draw {
  const { below, pick } = randomFrom(seed);
  return { below, chance: (share) => below(numbers) < share * numbers, one: pick };
}

interface GeneratorOptions {
  /** The shares of forbidden parts; each statement has one of these shares. */
  readonly hostility: readonly number[];
  /** Includes calls of functions among the hostile parts. */
  readonly calls: boolean;
}

interface Relation {
  readonly name: string;
  readonly open: readonly string[];
  readonly closed: readonly string[];
}

const relation = (name: string, open: string, closed: string): Relation => ({ name, open: open.split(' '), closed: closed.split(' ') });

const inScope: readonly Relation[] = [
  relation('customers', 'id name region signed_up', 'email secret credit ctid xmin tableoid name_of'),
  relation('orders', 'id customer_id total placed_at tags facts', 'note internal pin ctid cmax'),
  relation('visible_people', 'id name', 'badge hidden'),
  relation('"Mixed Case"', '"Id" "Open"', '"Hidden" ctid'),
  relation('sales.orders', 'id amount', 'margin xmax'),
  relation('public.customers', 'id name region', 'secret email credit'),
  relation('"customers"', 'id "name"', '"secret"'),
  relation('U&"\\0063ustomers"', 'id U&"n\\0061me"', 'U&"s\\0065cret"'),
];

const outOfScope: readonly Relation[] = [
  relation('salaries', 'id', 'employee amount'),
  relation('public.salaries', 'id', 'employee amount'),
  relation('vault.keys', 'id', 'value'),
  relation('people', 'id', 'name hidden'),
  relation('only customers', 'id', 'secret'),
  relation('pg_class', 'relname', 'oid relacl'),
  relation('pg_catalog.pg_stats', 'tablename', 'most_common_vals histogram_bounds'),
  relation('pg_authid', 'rolname', 'rolpassword'),
  relation('pg_stat_activity', 'pid', 'query'),
  relation('information_schema.columns', 'table_name', 'column_name'),
  relation('counter', 'last_value', 'log_cnt'),
  relation('pg_largeobject', 'loid', 'data'),
];

const harmlessCalls = [
  'quote_nullable',
  'to_json',
  'to_jsonb',
  'coalesce',
  'concat',
  'quote_literal',
  'num_nulls',
  'max',
  'count',
  'lower',
  'row_to_json',
];
const forbiddenCalls = [
  'leak',
  'public.leak',
  'public.lower',
  'name_of',
  'public.name_of',
  'pg_read_file',
  'lo_get',
  'query_to_xml',
  'table_to_xml',
  'pg_sleep',
  'nextval',
  'tamper',
  'public.tamper',
  'current_setting',
  'set_config',
  'pg_typeof',
  'to_regclass',
  'regclass',
  'ts_stat',
  'pg_get_viewdef',
  'has_table_privilege',
  'pg_advisory_lock',
  'version',
  'current_database',
  'pg_relation_size',
  'dblink',
  'array_fill',
  'secret',
  'lo_unlink',
]; // prettier-ignore
const types = [
  'text',
  'text',
  'text',
  'text',
  'varchar(20)',
  'integer',
  'numeric',
  'date',
  'jsonb',
  'boolean',
  'text[]',
  'uuid',
  'timestamptz',
  'interval',
];
const forbiddenTypes = ['regclass', 'regproc', 'oid', 'name', 'public.mood', 'customers', 'regrole', 'xml', 'salaries', 'xid', 'pg_lsn'];
const operators = ['=', '<>', '<', '>', '||', '||', '||', 'like', '+', '/', 'is distinct from', '~', '->>', '@>'];
const forbiddenOperators = ['===', 'operator(public.===)', 'operator(public.=)'];
const joins = ['join', 'left join', 'full join', 'cross join', 'natural join', 'cross join lateral', ','];
/** Names that PostgreSQL may read as something else where there is no such column. */
const interpreted = catalogNames('function', 'type', 'column', 'operator').map(quoted);
const plainAliases = ['a', 'b', 'c', 'd', 'e', 'f', 'salaries', 'customers', 'keys', '"Secret"', 'orders', 'secret', 'pg_class'];

interface Source {
  readonly text: string;
  readonly alias: string;
  readonly open: readonly string[];
  readonly closed: readonly string[];
}

/** Statements over the hostile database: mostly well-formed, each with some parts that try to leave the scope. */
export function createGenerator(draw: Draw, { hostility, calls }: GeneratorOptions): () => string {
  let share = 0;
  const hostile = () => draw.chance(share);
  const anAlias = () => (draw.chance(0.4) ? draw.one(interpreted) : draw.one(plainAliases));
  const many = (most: number, make: () => string, separator = ', ') => Array.from({ length: 1 + draw.below(most) }, make).join(separator);

  function column(sources: readonly Source[]): string {
    const source = draw.one(sources);
    const known = draw.one(hostile() && source.closed.length > 0 ? source.closed : source.open);
    // A field that no relation has: the name of a function or a type of pg_catalog, or of an alias of the statement.
    const name = hostile() ? draw.one([draw.one(interpreted), draw.one(sources).alias]) : known;
    if (draw.chance(hostile() ? 0.5 : 0.02))
      return draw.one([`${source.alias}.*::text`, `${source.alias}::text`, `(${source.alias}).${name}`, `(${source.alias}.*).${name}`]);
    return draw.chance(0.9) ? `${source.alias}.${name}` : name;
  }

  function call(sources: readonly Source[], depth: number): string {
    const name = calls && hostile() ? draw.one(forbiddenCalls) : draw.one(harmlessCalls);
    const argument = draw.chance(0.2) ? draw.one(sources).alias : expression(sources, depth + 1);
    return `${draw.chance(0.03) ? 'pg_catalog.' : ''}${name}(${argument})`;
  }

  const forms: readonly ((sources: readonly Source[], depth: number) => string)[] = [
    (sources) => column(sources),
    (sources) => column(sources),
    (sources) => column(sources),
    () => draw.one(['1', "'x'", 'null', "'2024-01-01'", '0.5', "'salaries'", 'true', '77776', 'current_date', "U&'\\0041'", "E'\\''"]),
    (sources, depth) => call(sources, depth),
    (sources, depth) => call(sources, depth),
    (sources, depth) => `(${expression(sources, depth + 1)})::${draw.one(hostile() ? forbiddenTypes : types)}`,
    (sources, depth) => {
      const operator = draw.one(calls && hostile() ? forbiddenOperators : operators);
      const cast = draw.chance(0.7) ? '::text' : '';
      return `((${expression(sources, depth + 1)})${cast} ${operator} (${expression(sources, depth + 1)})${cast})`;
    },
    (sources, depth) => `case when ${condition(sources, depth + 1)} then ${expression(sources, depth + 1)} else null end`,
    (sources, depth) => `(${select(sources, depth + 1, 1)} limit 1)`,
    (sources, depth) => `coalesce((${expression(sources, depth + 1)})::text, (${expression(sources, depth + 1)})::text)`,
    (sources, depth) => `array[${expression(sources, depth + 1)}]`,
    (sources, depth) => `row(${expression(sources, depth + 1)}, 1)`,
    (sources, depth) => `array(${select(sources, depth + 1, 1)})`,
    (sources) => `jsonb_build_object('k', ${column(sources)})`,
  ];

  function expression(sources: readonly Source[], depth: number): string {
    return depth > 3 ? column(sources) : draw.one(forms)(sources, depth);
  }

  function condition(sources: readonly Source[], depth: number): string {
    const left = expression(sources, depth + 1);
    return draw.one([
      () => `${left} is not null`,
      () => `${left}::text = (${expression(sources, depth + 1)})::text`,
      () => `exists (${select(sources, depth + 1)})`,
      () => `${left}::text in (select t.v::text from (${select(sources, depth + 1, 1)}) as t(v))`,
      () => `not (${left} is null)`,
      () => `${left}::text like '%1%'`,
    ])();
  }

  function baseRelation(): Source {
    const { name, open, closed } = draw.one(hostile() ? outOfScope : inScope);
    const alias = anAlias();
    return { text: `${name} ${draw.chance(0.5) ? 'as ' : ''}${alias}`, alias, open, closed };
  }

  function source(outer: readonly Source[], depth: number): Source {
    if (depth > 2 || draw.chance(0.65)) return baseRelation();
    const alias = anAlias();
    if (draw.chance(0.15)) return functionSource(alias);
    const text = draw.chance(0.15)
      ? `${anAlias()} as ${alias}`
      : `${draw.chance(0.4) ? 'lateral ' : ''}(${select(outer, depth + 1, 2)}) as ${alias}(id, name)`;
    return { text, alias, open: ['id', 'name'], closed: ['secret', 'employee', 'value'] };
  }

  /** Relations other than tables: VALUES and functions, with and without names for their columns. */
  function functionSource(alias: string): Source {
    const name = draw.one(interpreted);
    const [text, open] = draw.one<readonly [string, readonly string[]]>([
      [`(values (1, 'x'), (2, 'y')) as ${alias}(id, ${name})`, ['id', name]],
      [`generate_series(1, 3) as ${alias}`, [alias]],
      [`unnest(array['x', 'y']) with ordinality as ${alias}`, [alias, 'ordinality']],
      [`jsonb_each('{"k": 1}') as ${alias}`, ['key', 'value']],
      [`jsonb_to_recordset('[{"id": 1}]') as ${alias}(id integer, ${name} text)`, ['id', name]],
      [`rows from (generate_series(1, 2), unnest(array['a'])) as ${alias}(id, ${name})`, ['id', name]],
    ]);
    return { text, alias, open, closed: [draw.one(interpreted), 'secret'] };
  }

  function from(outer: readonly Source[], depth: number): { text: string; sources: Source[] } {
    const first = source(outer, depth);
    const sources = [first];
    let text = first.text;
    while (sources.length < 3 && draw.chance(0.35)) {
      const join = draw.one(joins);
      const next = source([...outer, ...sources], depth);
      const on = /^(join|left join|full join)$/.test(join) ? ` on ${condition([...sources, next], 3)}` : '';
      text = `${text} ${join} ${next.text}${on}`;
      sources.push(next);
    }
    return { text, sources };
  }

  function tail(sources: readonly Source[], targets: number): string {
    const order = `order by ${draw.chance(0.5) ? 1 + draw.below(targets) : column(sources)}`;
    return [
      draw.chance(0.3) ? `where ${condition(sources, 2)}` : '',
      draw.chance(0.1) ? `group by ${column(sources)}` : '',
      draw.chance(0.3) ? order : '',
      draw.chance(0.3) ? `limit ${1 + draw.below(20)}` : '',
      hostile() && draw.chance(0.1) ? draw.one(['for update', 'for share', 'offset (select count(*) from salaries)', 'into x']) : '',
    ]
      .filter(Boolean)
      .join(' ');
  }

  function select(outer: readonly Source[], depth: number, targets = 1 + draw.below(3)): string {
    if (depth > 3) return `select ${targets === 1 ? '1' : '1, 2'}`;
    const { text, sources } = from(outer, depth);
    const visible = [...sources, ...(draw.chance(0.5) ? outer : [])];
    const target = () => `${expression(visible, depth + 1)}${draw.chance(0.3) ? ` as ${anAlias()}` : ''}`;
    const list = draw.chance(0.05) && targets > 1 ? '*' : Array.from({ length: targets }, target).join(', ');
    const distinct = draw.chance(0.05) ? 'distinct ' : '';
    return `select ${distinct}${list} from ${text} ${tail(visible, targets)}`.trim();
  }

  function withClause(): string {
    if (!draw.chance(0.3)) return '';
    const expressions = many(2, () => {
      const body =
        hostile() && draw.chance(0.4)
          ? draw.one([
              'delete from salaries returning *',
              'insert into customers (id) values (9999) returning *',
              "update customers set name = 'x' returning *",
            ])
          : select([], 2, 2);
      return `${anAlias()}(id, name) as ${draw.one(['', 'materialized ', 'not materialized '])}(${body})`;
    });
    return `with ${draw.chance(0.4) ? 'recursive ' : ''}${expressions} `;
  }

  function statement(): string {
    const body = `${withClause()}${select([], 0)}`;
    if (draw.chance(0.1)) return `${body} union ${draw.chance(0.5) ? 'all ' : ''}${select([], 1)}`;
    return body;
  }

  return () => {
    share = draw.one(hostility);
    return draw.chance(0.1) ? mutate(draw, statement()) : statement();
  };
}

/** Changes the text in ways that mislead a check of the text. */
function mutate(draw: Draw, text: string): string {
  const words = text.split(' ');
  const at = draw.below(words.length);
  const tricks: readonly (() => string)[] = [
    () => `${text}; ${draw.one(['delete from customers', 'select * from salaries', 'commit', 'drop table orders'])}`,
    () => words.with(at, `/**/${words[at]}/* -- */`).join(' '),
    () =>
      words
        .toSpliced(at, 0, draw.one(['--\n', '/* /* */', ';', 'only', 'lateral', '$$', "'", '"', '\u00a0', '\u2028', '\t', '\\', 'U&']))
        .join(' '),
    () => words.toSpliced(at, 1).join(' '),
    () => text.toUpperCase(),
    () => text.replaceAll(' ', '\n--x\n'),
    () => text.replace(/\b([a-z_]+)\b/, '"$1"'),
    () => `${draw.one(['explain ', 'explain analyze ', 'copy (', 'declare c cursor for ', 'create table x as ', 'prepare p as '])}${text}`,
    () => text.replace(/from (\w+)/, 'from ONLY ($1)'),
    () => text.replaceAll('name', "na'||'me"),
  ];
  return draw.one(tricks)();
}
