import { p, texts } from '@agent-service/store/entities';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { columnOf } from './agents.ts';

const columnOfInput = (input: z.ZodType) => columnOf({ name: 'description', input });

test('texts, names, booleans, numbers and lists of texts have their types of columns', () => {
  expect(columnOfInput(z.string().max(5))).toEqual(p.text());
  expect(columnOfInput(z.enum(['a', 'b']))).toEqual(p.text());
  expect(columnOfInput(z.boolean())).toEqual(p.boolean());
  expect(columnOfInput(z.int32().min(1))).toEqual(p.integer());
  expect(columnOfInput(z.number().max(2))).toEqual(p.double());
  expect(columnOfInput(z.array(z.string()))).toEqual(texts());
});

test('a column has the default of its field', () => {
  expect(columnOf({ name: 'description', input: z.string(), default: '' })).toEqual(p.text().default(''));
});

test('a kind of value without a column is an error that names the field', () => {
  // A column of int4 is smaller than z.int(), and a date would need a conversion.
  for (const input of [z.int(), z.iso.datetime(), z.date(), z.array(z.int32()), z.record(z.string(), z.string())])
    expect(() => columnOfInput(input)).toThrow('the field description');
});
