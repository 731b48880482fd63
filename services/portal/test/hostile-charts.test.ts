import { expect, test } from '@jest/globals';
import { maxRows, safeSpec } from '../web/src/ui/rich/chart-spec.ts';

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
