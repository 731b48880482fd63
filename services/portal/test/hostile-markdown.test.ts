import { expect, test } from '@jest/globals';
import { isCostly } from '../web/src/ui/rich/markdown-cost.ts';

const lines = (count: number, line: string) => Array(count).fill(line).join('\n');
const fence = '```';

/** The parser takes several seconds for each, or runs out of stack. */
test.each<[string, string]>([
  ['many nested quotes', '>'.repeat(4_000)],
  ['many nested lists', '- '.repeat(4_000)],
  ['many nested numbered lists', '1. '.repeat(1_000)],
  ['deep lists on many lines', lines(5_000, `${'1. '.repeat(20)}a`)],
  ['deep quotes on many lines', lines(5_000, '> '.repeat(20))],
  ['emphasis that does not end', '*a_ '.repeat(8_000)],
  ['emphasis in emphasis', `${'*'.repeat(16_000)}a${'*'.repeat(16_000)}`],
  ['strikethrough that does not end', '~~a'.repeat(10_000)],
  ['labels that do not end', '[a]['.repeat(8_000)],
  ['instructions of XML that do not end', 'a <?'.repeat(8_000)],
  ['code that does not end', Array.from({ length: 600 }, (_, index) => `${'`'.repeat(index)}a`).join('')],
  ['a wide table with short rows', `${'|a'.repeat(200)}\n${'|-'.repeat(200)}\n${lines(8_000, '|')}`],
  ['a table of a hundred thousand rows', `a|b\n-|-\n${lines(100_000, 'x|y')}`],
  ['footnotes of footnotes', Array.from({ length: 10_000 }, (_, index) => `[^${index}]\n\n[^${index}]: a\n\n`).join('')],
  ['line breaks', '\r'.repeat(200_000)],
  ['a million characters', 'word '.repeat(200_000)],
])('%s are costly', (_, text) => {
  expect(isCostly(text)).toBe(true);
});

test.each<[string, string]>([
  ['a long text', 'Some **bold** words, a [link](https://example.com) and `code`.\n\n'.repeat(200)],
  ['a table of a thousand rows', `|order_id|net_total|\n|---|---|\n${lines(1_000, '|order_1|12.50|')}`],
  [
    'a chart of 5,000 rows',
    `${fence}vega-lite\n${JSON.stringify({ data: { values: Array(5_000).fill({ order_day: '2026-01-01', net: 12.5 }) } })}\n${fence}`,
  ],
  ['an answer in JSON', `${fence}json\n${JSON.stringify(Array(2_000).fill({ order_id: 1, name: 'A' }), undefined, 2)}\n${fence}`],
  ['a list of a thousand items', lines(1_000, '- *item*: a-b - c')],
  ['lists in quotes', lines(100, '> - 1. a')],
])('%s is not costly', (_, text) => {
  expect(isCostly(text)).toBe(false);
});
