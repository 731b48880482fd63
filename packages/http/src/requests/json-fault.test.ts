import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findJsonFault } from './json-fault.ts';

test.each([
  ['{"a":1,\n "b":2,}', /a name in double quotes must come at line 2, column 8, where there is something else/],
  ['{"a":1', /a comma or the closing bracket must come at line 1, column 7, where it ends/],
  ["{'a':1}", /a name in double quotes or } must come at line 1, column 2/],
  ['{"a" 1}', /a colon must come at line 1, column 6/],
  ['[1 2]', /a comma or the closing bracket must come at line 1, column 4/],
  ['[01]', /a comma .* column 3/],
  ['{"a":tru}', /a value must come at line 1, column 6/],
  ['{"a":"\n"}', /a value must come at line 1, column 6/],
  ['{} {}', /nothing more must come at line 1, column 4/],
  ['', /a value must come at line 1, column 1, where it ends/],
])('%j: the place and what may come there are named', (text, message) => {
  expect(findJsonFault(text)).toMatch(message);
});

test('a further value behind valid JSON is the fault', () => {
  fc.assert(fc.property(fc.json(), (json) => expect(findJsonFault(`${json} 1`)).toContain('nothing more')));
});
