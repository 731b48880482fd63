import { formatRows } from '@agent-service/business-data/results';
import { expect, test } from '@jest/globals';
import { answerQuestion } from '../src/index.ts';

/** The calls of `query`, and whether they only prepared the answer. */
interface Call {
  readonly sql: string;
  readonly isPreparation: boolean | undefined;
}

function tools(calls: Call[]) {
  const texts = {
    list_tables: 'fees(id, reason, amount_eur) about 3 rows',
    describe_table: 'table fees\n- id: integer\n- reason: text\n- amount_eur: numeric(10,2)\nprimary key (id)',
  };
  const query = async (input: unknown, _: AbortSignal, options?: { readonly isPreparation?: boolean }) => {
    const { sql } = input as { sql: string };
    calls.push({ sql, isPreparation: options?.isPreparation });
    return options?.isPreparation
      ? formatRows({ columns: ['field', 'list'], rows: [['0', '["late"]']], truncated: false })
      : formatRows({ columns: ['total'], rows: [['1234567.50']], truncated: false });
  };
  const named = Object.entries(texts).map(([name, text]) => ({ name, run: async () => text }));
  return [...named, { name: 'query', run: query }];
}

const ask = async (calls: Call[], more: { readonly locale?: string; readonly context?: string }): Promise<string> => {
  const question = {
    message: 'total amount of late fees',
    earlier: [],
    tools: tools(calls),
    output: { format: 'markdown', charts: false },
  } as const;
  return (await answerQuestion({ ...question, ...more }, AbortSignal.timeout(20_000))).content;
};

test('amounts are written as the context says, else as the setting, else in English', async () => {
  expect(await ask([], {})).toContain('€1,234,567.50');
  expect(await ask([], { locale: 'de-DE' })).toMatch(/1\.234\.567,50\s€/);
  expect(await ask([], { locale: 'de-DE', context: '{"locale":"fr-FR"}' })).toMatch(/1\s234\s567,50/);
  expect(await ask([], { locale: 'not a tag' })).toContain('€1,234,567.50');
});

test.each([
  ['{"record":{"name":"Alder","locale":"de-DE"},"locale":"en"}', '€1,234,567.50'],
  ['{"locale":"en","record":{"name":"Alder","locale":"de-DE"}}', '€1,234,567.50'],
  ['{"record":{"name":"Alder","locale":"de-DE"}}', '1,234,567.50'],
  ['{"locale":7}', '1,234,567.50'],
  ['null', '1,234,567.50'],
])('a locale inside of a record of the context is not that of the answer: %s', async (context, amount) => {
  expect(await ask([], { locale: 'en', context })).toContain(amount);
});

test('only the sample of values is marked as a preparation', async () => {
  const calls: Call[] = [];
  await ask(calls, {});
  expect(calls.map(({ isPreparation }) => isPreparation)).toEqual([true, false]);
  expect(calls[0]?.sql).toContain('with sample as');
  expect(calls[1]?.sql).toContain("= 'late'");
});

test('values of the context that are too many to be read had no effect, and the answer says so', async () => {
  const fields = Array.from({ length: 25 }, (_, at) => [`field_${at + 1}`, `value ${at + 1}`]);
  const context = JSON.stringify({ record: Object.fromEntries([...fields.slice(0, 21), ['reason', 'late'], ...fields.slice(21)]) });
  const note = /The context's (.*) had no effect on the figures/.exec(await ask([], { context }))?.[1]?.split(', ');
  expect(note).toEqual([...fields.slice(0, 20).map(([name]) => name), 'field_21', 'reason', ...fields.slice(21).map(([name]) => name)]);
  const long = JSON.stringify(Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`key_${at + 1}`, at])));
  expect(await ask([], { context: long })).toContain('key_29, key_30 and 30 more had no effect on the figures');
});
