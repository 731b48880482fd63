import { expect, test } from '@jest/globals';
import { parse } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import { callsOwnFunctionsOnly, maxRows, safeSpec } from '../web/src/ui/rich/chart-spec.ts';

const remote = 'https://attacker.example';
const script = 'javascript:alert(1)';
const rows = [{ a: 'x', b: 1 }];
const encoding = { x: { field: 'a', type: 'nominal' }, y: { field: 'b', type: 'quantitative' } };
const sanitize = (spec: object) => safeSpec({ data: { values: rows }, mark: 'bar', encoding, ...spec });

/** Each would load something, run an expression, lead elsewhere or make the library count without end. The browser tests draw them. */
test.each<[string, object]>([
  ['data of an address', { data: { url: `${remote}/rows.json`, values: rows } }],
  ['a data set by name', { datasets: { remote: { url: remote } } }],
  [
    'a picture as its mark',
    {
      layer: [
        { mark: { type: 'image', url: remote }, encoding },
        { mark: 'bar', encoding },
      ],
    },
  ],
  ['links of its marks', { mark: { type: 'bar', href: script, url: remote }, encoding: { ...encoding, href: { value: script } } }],
  ['a look-up elsewhere', { transform: [{ lookup: 'a', from: { data: { url: remote }, key: 'a' } }] }],
  ['a computed column', { transform: [{ calculate: 'alert(1)', as: 'c' }] }],
  ['a filter that is an expression', { transform: [{ filter: 'alert(1)' }] }],
  ['an expression in a label', { encoding: { x: { ...encoding.x, axis: { labelExpr: 'alert(1)' } }, y: encoding.y } }],
  ['a condition with a test', { encoding: { ...encoding, color: { condition: { test: 'alert(1)', value: 'red' } } } }],
  ['parameters', { params: [{ name: 'p', expr: 'alert(1)', bind: { input: 'text' } }] }],
  ['signals', { encoding: { ...encoding, size: { value: { signal: 'alert(1)' }, bin: { step: 1e-9, extent: [0, 1e9] } } } }],
  ['a loader of its own', { usermeta: { embedOptions: { loader: { target: remote } } }, config: { background: { expr: 'alert(1)' } } }],
  ['a map', { projection: { type: 'mercator' } }],
])('a chart of an answer loses %s', (_, spec) => {
  const text = JSON.stringify(sanitize(spec));
  for (const part of [remote, script, 'alert', 'url', 'href', 'expr', 'signal', 'calculate', 'lookup', 'params', 'step'])
    expect({ part, isIn: text.includes(`"${part}`) || text.includes(`${part}(`) }).toEqual({ part, isIn: false });
  expect(sanitize(spec)).toBeDefined();
});

test.each<[string, unknown]>([
  ['no object', 'bar'],
  ['a list', [1, 2]],
  ['nothing', null],
  ['no rows', { mark: 'bar', encoding }],
  ['rows of an address alone', { data: { url: remote }, mark: 'bar', encoding }],
  ['a generator of rows', { data: { sequence: { start: 0, stop: 1e9 } }, mark: 'point' }],
  ['an unknown mark', { data: { values: rows }, mark: 'image', encoding }],
])('%s is not drawn', (_, spec) => {
  expect(safeSpec(spec)).toBeUndefined();
});

test('rows, layers, depth and counts are bounded, and cells are values', () => {
  const many = Array.from({ length: maxRows * 2 }, (_unused, b) => ({ a: { nested: [b] }, b }));
  const layer = Array.from({ length: 500 }, () => ({ mark: 'bar', encoding }));
  const bounded = safeSpec({ data: { values: many }, layer, encoding: { y: { axis: { tickCount: 1e9, nice: { interval: 'x' } } } } });
  expect(bounded?.rows).toHaveLength(maxRows);
  expect(bounded?.rows[0]).toEqual({ a: '{"nested":[0]}', b: 0 });
  expect(bounded?.spec['layer']).toHaveLength(10);
  expect(bounded?.spec['encoding']).toEqual({ y: { axis: { tickCount: 50 } } });
  const polluted = sanitize(JSON.parse('{"__proto__": {"polluted": 1}, "encoding": {"__proto__": {"polluted": 1}, "x": {"field": "a"}}}'));
  expect(polluted).toBeDefined();
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  expect(polluted?.spec).not.toHaveProperty('encoding.polluted');
});

test('a chart multiplies neither its rows nor itself', () => {
  const fields = Array.from({ length: 200 }, (_unused, index) => `f${index}`);
  const fold = Array.from({ length: 10 }, () => ({ fold: fields, as: ['k', 'v'] }));
  const channel = { field: 'a', type: 'nominal' };
  const bounded = sanitize({ transform: fold, encoding: { ...encoding, row: channel, column: channel, facet: channel } });
  expect(bounded?.spec['transform']).toEqual([{ fold: fields.slice(0, 20), as: ['k', 'v'] }]);
  expect(bounded?.spec['encoding']).toEqual(encoding);
});

/** True if the page draws the chart. */
function isDrawn(spec: object): boolean {
  const safe = sanitize(spec);
  const { spec: written } = compile({ ...safe?.spec, data: { values: safe?.rows }, width: 200 } as unknown as TopLevelSpec);
  return callsOwnFunctionsOnly(parse(written, undefined, { ast: true } as never));
}

const endless = 'length(sequence(0, 1e9))';

test.each<[string, object]>([
  ['a part of a filter', { transform: [{ filter: { and: [{ field: 'b', gt: 0 }, endless] } }] }],
  ['the negation of a filter', { transform: [{ filter: { not: endless } }] }],
  ['a date of a filter', { transform: [{ filter: { field: 'b', equal: { year: endless } } }] }],
  ['a date of a list', { transform: [{ filter: { field: 'b', oneOf: [{ year: 2026, date: endless }] } }] }],
  ['a date of an axis', { encoding: { ...encoding, x: { field: 'b', type: 'temporal', axis: { values: [{ year: endless }] } } } }],
  ['a date in place of a column', { encoding: { ...encoding, x: { datum: { year: endless }, type: 'temporal' } } }],
  ['a date of an order', { encoding: { ...encoding, x: { ...encoding.x, sort: [{ year: endless }] } } }],
  ['the width of a mark', { mark: { type: 'bar', width: { band: endless } } }],
  ['the offset of a mark', { mark: { type: 'bar', xOffset: endless } }],
  ['a place in a band', { encoding: { ...encoding, x2: { field: 'b', bandPosition: endless } } }],
  ['a number of any width', { mark: { type: 'bar', xOffset: "length(format(1, '999999999d'))" } }],
  ['a change of the rows', { mark: { type: 'bar', xOffset: "setdata('source_0', [])" } }],
  ['a pattern', { mark: { type: 'bar', xOffset: "test(/(a+)+$/, 'aaaa')" } }],
])('a chart with an expression as %s is not drawn', (_, spec) => {
  expect(isDrawn(spec)).toBe(false);
});

test('charts of rows are drawn: of all marks, with dates, bins, sums, layers and filters', () => {
  const time = { field: 'a', type: 'temporal', timeUnit: 'yearmonth' };
  const count = { aggregate: 'count', stack: 'normalize' };
  const specs: object[] = [
    ...['area', 'bar', 'boxplot', 'circle', 'line', 'point', 'rect', 'rule', 'square', 'tick', 'trail'].map((mark) => ({ mark })),
    { mark: { type: 'arc', innerRadius: 40 }, encoding: { theta: encoding.y, color: encoding.x } },
    { mark: { type: 'bar', tooltip: true, width: { band: 0.5 } }, encoding: { x: time, y: count, color: encoding.x } },
    { mark: 'bar', encoding: { x: { field: 'b', bin: true }, y: count, color: { field: 'b', type: 'quantitative' } } },
    { layer: [{ mark: 'bar' }, { mark: 'line' }, { mark: { type: 'text', dy: -4 }, encoding: { text: encoding.y } }], encoding },
    { transform: [{ filter: { and: [{ field: 'a', timeUnit: 'year', equal: 2026 }, { not: { field: 'b', lt: 1 } }] } }] },
    { transform: [{ filter: { field: 'a', range: [{ year: 2025, month: 'jan' }, { year: 2026 }] } }] },
  ];
  for (const spec of specs) expect({ spec, isDrawn: isDrawn(spec) }).toEqual({ spec, isDrawn: true });
});
