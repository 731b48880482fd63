import fc from 'fast-check';
import { anyCharacter } from '../properties.ts';

/** The part of JSON Schema that OpenAPI documents of ours use. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  example?: unknown;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
}

export type Resolve = (schema: Schema) => Schema;

const longest = 300;

/** Values that a schema allows, as far as its own keywords say. */
export function validValues(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  const known = resolve(schema);
  const own = ownValues(known, resolve);
  return known.example === undefined ? own : fc.oneof(fc.constant(known.example), own);
}

function ownValues(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map((choice) => validValues(choice, resolve)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return textValues(schema);
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? -1_000_000, max: schema.maximum ?? 1_000_000 });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(validValues(schema.items ?? {}, resolve), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, 6),
      });
    case 'object':
      return objectValues(schema, resolve);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function textValues({ format, minLength = 0, maxLength = longest }: Schema): fc.Arbitrary<string> {
  if (format === 'email') return fc.emailAddress();
  if (format === 'date') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10));
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (format === 'uri') return fc.webUrl();
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, longest) });
}

function objectValues(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  const properties = Object.entries(schema.properties ?? {}).map(([name, value]) => [name, validValues(value, resolve)] as const);
  return fc.record(Object.fromEntries(properties), { requiredKeys: schema.required ?? [] });
}

/** Values as attackers and mistakes send them. */
export const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    ' ',
    0,
    -1,
    1.5,
    1e308,
    true,
    [],
    {},
    [[]],
    'null',
    '\u0000',
    '\ud800',
    'a\u0000b',
    '%00',
    '../..',
    "' or 1=1 --",
    '{{x}}',
    '<script>',
  ),
  fc.constantFrom<unknown>(
    'x'.repeat(40_000),
    '𝒳'.repeat(200),
    JSON.parse('{"__proto__":{"admin":true}}'),
    { constructor: { prototype: 1 } },
    Number.MAX_SAFE_INTEGER + 2,
  ),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.jsonValue({ maxDepth: 4 }),
);

/** A valid value with one place spoiled: replaced, removed, or joined by a member that the schema does not know. */
export function mutatedValues(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  return fc
    .tuple(validValues(schema, resolve), junk, fc.nat(), fc.constantFrom('replace', 'remove', 'add'))
    .map(([value, spoiled, at, how]) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return spoiled;
      const names = Object.keys(value);
      const name = names[at % Math.max(1, names.length)];
      if (how === 'add' || name === undefined) return { ...value, [`stranger_${at % 7}`]: spoiled };
      const { [name]: _removed, ...rest } = value as Record<string, unknown>;
      return how === 'remove' ? rest : { ...value, [name]: spoiled };
    });
}
