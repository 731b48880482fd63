import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { answerQuestion } from '../src/answer-question.ts';
import { candidatesOf } from '../src/meaning/candidates.ts';
import { tilesOf, vocabularyOf } from '../src/meaning/tiles.ts';
import { type Schema, withKeysByName } from '../src/schema/schema.ts';
import { valueIndexOf } from '../src/schema/value-index.ts';
import { type Rows, schemaOf, type Tool, type Unreadable } from '../src/tools.ts';
import { wordsOf } from '../src/words/words.ts';

const tables = 100;
const columns = ['created_at', 'updated_at', 'started_at', 'ended_at'];
const nameOf = (number: number) => `things${number}`;
/** Every table leads to all others. */
const keyOf = (number: number) => ({ column: 'owner_id', table: nameOf((number + 1) % tables), references: 'id' });

const schema: Schema = Array.from({ length: tables }, (_, number) => ({
  name: nameOf(number),
  written: nameOf(number),
  rows: 10,
  columns: [
    { name: 'id', kind: 'number' as const },
    { name: 'owner_id', kind: 'number' as const },
    ...columns.map((name) => ({ name, kind: 'date' as const })),
  ],
  foreignKeys: [keyOf(number)],
}));

const longest = `how long ${'created updated started ended '.repeat(14)}`;

test('a question that names many days of many tables has few meanings', () => {
  const vocabulary = vocabularyOf(schema, {
    find: () => [],
    valuesOf: () => [],
    hasAllOf: () => true,
    hasUniqueIds: () => true,
    fewOf: () => [],
    spellingsOf: () => [],
    size: 0,
    isPartial: false,
  });
  const tiles = tilesOf(wordsOf(longest), vocabulary);
  const named = tiles.flatMap((tile) => [...tile.columns, ...tile.days]).length;
  const candidates = candidatesOf(tiles, vocabulary);
  expect({ named: named >= 4 * tables, many: candidates.length > 2_000 }).toEqual({ named: true, many: false });
});

test('other work of the process goes on between the messages of a conversation', async () => {
  const tools: Record<string, (input: { table?: string }) => string> = {
    list_tables: () => schema.map(({ name }) => `${name}(id, owner_id, ${columns.join(', ')}) about 10 rows`).join('\n'),
    describe_table: ({ table = '' }) => {
      const { table: target } = keyOf(Number(table.slice('things'.length)));
      const dates = columns.map((name) => `- ${name}: timestamp with time zone`);
      return [`${table}:`, '- id: integer', '- owner_id: integer', ...dates, `(owner_id) refers to ${target}(id)`].join('\n');
    },
    query: () => '(no rows)',
  };
  const listed = Object.entries(tools).map(
    ([name, run]): Tool => ({ name, run: async (input) => run(input as { table?: string }) }) as Tool,
  );
  let isOver = false;
  let turns = 0;
  const question = { message: longest, earlier: [longest, longest, longest, longest], output: { format: 'text', charts: false } as const };
  const answered = answerQuestion(
    { ...question, context: '', source: undefined, tools: listed, locale: undefined } as never,
    AbortSignal.timeout(60_000),
  );
  const other = (async () => {
    for (; !isOver; turns += 1) await setImmediate();
  })();
  expect((await answered).content).not.toBe('');
  isOver = true;
  await other;
  expect(turns).toBeGreaterThanOrEqual(question.earlier.length);
});

test('the cost of keys does not grow with the columns of a table, nor with the tables', () => {
  let reads = 0;
  const counted = <Name extends string>(field: Name, value: string) =>
    Object.defineProperty({} as Record<Name, string>, field, {
      enumerable: true,
      get() {
        reads += 1;
        return value;
      },
    });
  const keys = Array.from({ length: 2_000 }, (_, index) => index);
  const listed = Array.from({ length: tables }, (_, index) => Object.assign(counted('written', nameOf(index)), { rows: 10 }));
  const described = keys.map(() => ({ column: 'a', target: ['public', nameOf(99)], references: 'id' }));
  reads = 0;
  expect(schemaOf(listed, [{ columns: [], keys: described }])[0]?.foreignKeys).toHaveLength(keys.length);
  expect(reads).toBeLessThan(10 * tables);

  const wide = Array.from({ length: 1_600 }, (_, index) => Object.assign(counted('name', `c${index}`), { kind: 'number' as const }));
  const foreignKeys = keys.map((index) => ({ column: `c${index % 1_600}`, table: 'wide', references: 'c1599' }));
  reads = 0;
  const [table] = withKeysByName([{ name: 'wide', written: 'wide', rows: 10, columns: wide, foreignKeys }], () => true);
  expect(table?.foreignKeys).toHaveLength(keys.length);
  expect(reads).toBeLessThan(10 * wide.length);
});

test('a database that sends longer lists of values than it was asked for gives as many values as another', async () => {
  const lists = Array(100).fill(['0', JSON.stringify(Array(500).fill('same'))]);
  const reply = { rows: lists, truncated: false };
  const texts: Schema = [{ name: 'notes', written: 'notes', rows: 10, columns: [{ name: 'text', kind: 'text' }], foreignKeys: [] }];
  const data = { tables: async () => ({ schema: texts, missing: '' }), query: async () => reply, prepare: async () => reply };
  expect(await valueIndexOf(undefined, texts, data)).toMatchObject({ size: 2_000 });
});

/** Each view has an id and is one to which a column of the last table leads. */
const viewsOf = (number: number, rows?: number, kind: 'number' | 'other' = 'number'): Schema => {
  const names = Array.from({ length: number }, (_, index) => nameOf(index));
  const views = names.map((name) => ({
    name,
    written: name,
    isView: true as const,
    rows,
    columns: [{ name: 'id', kind }],
    foreignKeys: [],
  }));
  const keys = names.map((name) => ({ name: `${name}_id`, kind }));
  return [...views, { name: 'visits', written: 'visits', rows: 10, columns: keys, primaryKey: ['id'], foreignKeys: [] }];
};

/** Data that counts the checks of ids and answers them in turn. */
function countingData(schema: Schema, replies: readonly (Rows | Unreadable)[] = []) {
  const checks: string[] = [];
  const prepare = async (sql: string): Promise<Rows | Unreadable> => {
    checks.push(sql);
    return replies[checks.length - 1] ?? { rows: [['3', '3']], truncated: false };
  };
  return { checks, data: { tables: async () => ({ schema, missing: '' }), query: prepare, prepare } };
}

const uniqueOf = async (source: string, schema: Schema, data: ReturnType<typeof countingData>['data']) => {
  const index = await valueIndexOf(source, schema, data);
  return 'error' in index ? index : schema.filter(({ name }) => index.hasUniqueIds(name)).map(({ name }) => name);
};

test('the ids of a few tables are counted before a question, and of none that is known to be large', async () => {
  const many = viewsOf(50);
  const { checks, data } = countingData(many);
  expect(await uniqueOf('many', many, data)).toHaveLength(20);
  expect(checks).toHaveLength(20);
  for (const sql of checks) expect(sql).toContain('limit 100000)');
  const large = viewsOf(3, 100_001);
  const other = countingData(large);
  expect(await uniqueOf('large', large, other.data)).toEqual([]);
  expect(other.checks).toEqual([]);
});

test('a check of ids that failed ends the checks, and is made again for the next question', async () => {
  const views = viewsOf(3);
  const rows = { rows: [['3', '3']], truncated: false };
  const { checks, data } = countingData(views, [rows, { error: 'canceling statement due to statement timeout' }]);
  expect(await uniqueOf('failing', views, data)).toEqual(['things0']);
  expect(checks).toHaveLength(2);
  expect(await uniqueOf('failing', views, data)).toEqual(['things0', 'things1', 'things2']);
  expect(await uniqueOf('failing', views, data)).toHaveLength(3);
  expect(checks).toHaveLength(5);
});

test('ids of a type that cannot be compared are asked for once', async () => {
  const views = viewsOf(2, undefined, 'other');
  const { checks, data } = countingData(views, [{ error: 'could not identify an equality operator for type json' }]);
  for (const _ of [1, 2]) expect(await uniqueOf('json', views, data)).toEqual(['things1']);
  expect(checks).toHaveLength(2);
});
