/** The parts of a JSON schema from which an example follows. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly example?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minimum?: number;
}

const texts: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T10:00:00.000Z',
  date: '2026-01-31',
  email: 'ada@example.com',
  uri: 'https://example.com',
};

/** A value of the schema, from the examples of its fields. */
export function composeExample(schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const compose = (part: Schema) => composeExample(part, schemas);
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref) return compose(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first) return compose(first);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(compose));
  return composeOfType(schema, compose);
}

function composeOfType(schema: Schema, compose: (part: Schema) => unknown): unknown {
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((one) => one !== 'null');
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, field]) => [name, compose(field)]));
    case 'array':
      return schema.items ? [compose(schema.items)] : [];
    case 'string':
      return texts[schema.format ?? ''] ?? 'text';
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return null;
  }
}
