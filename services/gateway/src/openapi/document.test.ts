import { describe, expect, test } from '@jest/globals';
import { everyRoute } from '../routes/index.ts';
import { createOpenApi } from './document.ts';

type Schema = Record<string, unknown>;
type Content = Record<string, { schema?: Schema; 'x-itemSchema'?: Schema; examples?: Record<string, unknown> }>;
interface Operation {
  operationId: string;
  method: string;
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content; headers?: Schema }>;
}

const document = JSON.parse(JSON.stringify(createOpenApi(everyRoute, '/')));
const operations = Object.values(document.paths as Record<string, Record<string, Operation>>).flatMap((item) =>
  Object.entries(item).map(([method, operation]) => ({ ...operation, method })),
);

/** The schemas that a schema consists of, by what they are in it. */
const partsOf = ({
  properties = {},
  items,
  additionalProperties,
  contentSchema,
  anyOf = [],
  oneOf = [],
  allOf = [],
}: Record<string, object>) => [
  ...Object.entries(properties).map(([name, schema]) => [`.${name}`, schema] as const),
  ...Object.entries({ items, additionalProperties, contentSchema }).map(([name, schema]) => [` ${name}`, schema] as const),
  ...Object.entries([anyOf, oneOf, allOf].flat()).map(([index, schema]) => [` variant ${index}`, schema] as const),
];

/** Every schema in these, by the component that holds it and its path there. */
function schemasIn(roots: readonly (readonly [string, unknown])[]): Map<string, Schema> {
  const byPath = new Map<string, Schema>();
  const visit = (path: string, schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null || byPath.has(path)) return;
    const name = (schema as { $ref?: string }).$ref?.split('/').at(-1);
    if (name !== undefined) {
      visit(name, document.components.schemas[name]);
      return;
    }
    byPath.set(path, schema as Schema);
    for (const [part, inner] of partsOf(schema as Record<string, object>)) visit(`${path}${part}`, inner);
  };
  for (const [path, schema] of roots) visit(path, schema);
  return byPath;
}

const mediaOf = (content: Content = {}) => Object.values(content).flatMap((media) => [media.schema, media['x-itemSchema']]);
const inAnswers = schemasIn(
  operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      mediaOf(content).map((schema, index) => [`${operationId} ${status} ${index}`, schema] as const),
    ),
  ),
);
const inRequests = schemasIn(
  operations.flatMap(({ operationId, requestBody }) => mediaOf(requestBody?.content).map((schema) => [operationId, schema] as const)),
);

const pathsWhere = (schemas: ReadonlyMap<string, Schema>, condition: (schema: Schema) => boolean) =>
  [...schemas].filter(([, schema]) => condition(schema)).map(([path]) => path);
const isInteger = ({ type }: Schema) => type === 'integer' || (Array.isArray(type) && type.includes('integer'));

test('fields beyond the specification are marked, also where they refer to a schema', () => {
  const { properties } = document.components.schemas.ListedMessage;
  for (const name of ['feedback', 'usage', 'result', 'queries']) expect([name, properties[name]['x-extension']]).toEqual([name, true]);
  expect(JSON.stringify(document)).not.toContain('"override"');
});

describe('the codes of errors', () => {
  const idsWhere = (condition: (operation: (typeof operations)[number]) => boolean) =>
    operations.filter(condition).map(({ operationId }) => operationId);
  const idsWith = (status: number, code: string) =>
    idsWhere(({ responses }) => code in (responses[status]?.content?.['application/json']?.examples ?? {}));

  test('include that of a body which is declared and not sent, except of operations that do not wait for one', () => {
    expect(idsWith(408, 'request_timeout')).toEqual(idsWhere(({ method }) => method !== 'get'));
  });

  test('of messages do not ask to repeat one later: a repeated one gets the answer of the first', () => {
    const running = idsWith(409, 'idempotency_in_progress');
    expect(running).toContain('cancelAnswer');
    for (const operationId of ['sendMessage', 'streamMessage']) expect(running).not.toContain(operationId);
  });
});

describe('generated clients', () => {
  test('the schemas of requests and answers are collected', () => {
    for (const name of ['Agent', 'UsageOfDay', 'Error', 'OAuthError', 'ListMeta']) expect(inAnswers.has(name)).toBe(true);
    expect(inRequests.has('DataScopeInput')).toBe(true);
  });

  test('take integers of answers that may exceed 32 bits', () => {
    const headers = Object.values(document.components.headers as Record<string, { schema: Schema }>).map(({ schema }) => schema);
    expect(headers.filter((schema) => isInteger(schema) && schema['format'] !== 'int64')).toEqual([]);
    expect(pathsWhere(inAnswers, (schema) => isInteger(schema) && schema['format'] !== 'int64')).toEqual([]);
  });

  test('need no more than 32 bits for the integers of requests', () => {
    expect(pathsWhere(inRequests, (schema) => isInteger(schema) && !(Number(schema['maximum']) < 2 ** 31))).toEqual([]);
  });

  test('accept fields that later versions add to answers, and send none that requests do not have', () => {
    expect(pathsWhere(inAnswers, ({ additionalProperties }) => additionalProperties === false)).toEqual([]);
    expect(
      pathsWhere(inRequests, ({ properties, additionalProperties }) => properties !== undefined && additionalProperties !== false),
    ).toEqual([]);
  });

  test('find the variant of a union that has all fields of an answer, if they take the first whose required fields are there', () => {
    const resolved = (schema: Schema): Schema => {
      const name = (schema as { $ref?: string }).$ref?.split('/').at(-1);
      return name === undefined ? schema : document.components.schemas[name];
    };
    const requiredOf = (schema: Schema) => (resolved(schema)['required'] ?? []) as string[];
    const partsOfList = (list: Schema) => resolved(list)['properties'] as { data: { items: Schema }; meta: Schema };
    const hasAll = (fields: readonly string[], needed: readonly string[]) => needed.every((field) => fields.includes(field));

    const unions = [...inAnswers].filter(
      ([, { anyOf = [] }]) => (anyOf as Schema[]).filter((variant) => requiredOf(variant).length > 0).length > 1,
    );
    expect(unions.map(([path]) => path)).toEqual(['ListUsageResponse']);
    const lists = unions.flatMap(([, { anyOf }]) => (anyOf as Schema[]).map(partsOfList));
    for (const [index, list] of lists.entries())
      for (const earlier of lists.slice(0, index)) {
        expect(hasAll(requiredOf(list.data.items), requiredOf(earlier.data.items))).toBe(false);
        // An empty list has the fields of `meta` only. Groups of all kinds share theirs.
        const [meta, earlierMeta] = [requiredOf(list.meta), requiredOf(earlier.meta)];
        expect(hasAll(meta, earlierMeta) && meta.length > earlierMeta.length).toBe(false);
      }
  });

  test('get no pattern for times: they make dates of them, and some apply the pattern to these', () => {
    const isTime = ({ format }: Schema) => format === 'date-time' || format === 'date';
    expect(pathsWhere(inAnswers, isTime).length).toBeGreaterThan(50);
    for (const schemas of [inAnswers, inRequests])
      expect(pathsWhere(schemas, (schema) => isTime(schema) && 'pattern' in schema)).toEqual([]);
  });

  test('find no object as a default, which some of them cannot write', () => {
    expect(JSON.stringify(document.components.schemas).match(/"default":{[^}]*}/g)).toBe(null);
  });

  test('get a name for every object, which most of them would number otherwise', () => {
    const isNameless = (path: string, { properties }: Schema) => properties !== undefined && !(path in document.components.schemas);
    const schemas = schemasIn(Object.keys(document.components.schemas).map((name) => [name, document.components.schemas[name]] as const));
    expect([...schemas].filter(([path, schema]) => isNameless(path, schema)).map(([path]) => path)).toEqual([]);
  });

  test('get no name like NewAgent beside Agent: Go calls the function that makes an Agent so', () => {
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => names.includes(`New${name}`))).toEqual([]);
  });

  test('get one enumeration where every variant would be a text', () => {
    const isText = ({ type }: Schema) => type === 'string';
    expect(pathsWhere(inAnswers, ({ anyOf = [] }) => (anyOf as Schema[]).filter(isText).length > 1)).toEqual([]);
  });
});
