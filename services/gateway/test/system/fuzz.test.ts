import { type ReceivedResponse, runSeed, type SentRequest } from '@agent-service/testkit';
import { type DocumentedAnswers, documentedAnswers } from '@agent-service/testkit/http/documented-answers';
import { junk, mutatedValues, type Schema, validValues } from '@agent-service/testkit/http/schema-arbitrary';
import { anyCharacter } from '@agent-service/testkit/properties';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { everyRoute as routes } from '../../src/routes/index.ts';
import { makeIds, title } from './requests.ts';
import { shareWorld, type World } from './world.ts';

const seed = runSeed('fuzz', 20_261_120);
const requests = Number(process.env['FUZZ_REQUESTS'] ?? 500);
const inFlight = 24;

interface Operation {
  parameters?: { name: string; in: string; schema: Schema; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}
interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}

let world: World;
let api: OpenApi;
let answers: DocumentedAnswers;
beforeAll(async () => {
  world = await shareWorld();
  const document = (await world.call(undefined, { method: 'GET', path: '/openapi.json' })).text;
  api = JSON.parse(document) as OpenApi;
  answers = documentedAnswers(JSON.parse(document));
});
afterAll(() => world?.stop());

/** Follows references inside the document. */
const resolve = (schema: Schema): Schema => {
  if (!schema.$ref) return schema;
  const target = schema.$ref
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return resolve(target.reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], api) as Schema);
};

interface Shot {
  path: string;
  method: string;
  request: SentRequest;
}

const printable = fc.string({ unit: fc.constantFrom(...'abc019-_.:;,/ ="\\\u00e9'), maxLength: 300 });
const wireText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
/** Query strings, valid and invalid. */
const query = (pairs: [string, unknown][]) => pairs.map(([name, value]) => `${encodeURI(name)}=${encode(wireText(value))}`).join('&');
function encode(text: string): string {
  try {
    return encodeURIComponent(text).slice(0, 4_000);
  } catch {
    return '%ED%A0%80';
  }
}

/** Requests to one operation: mostly valid, invalid in some parts. */
function shots(path: string, method: string, ids: Record<string, string>): fc.Arbitrary<Shot> {
  const operation = api.paths[path]?.[method] as Operation;
  const inQuery = operation.parameters?.filter((parameter) => parameter.in === 'query') ?? [];
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const values = (schema: Schema) => fc.oneof({ weight: 3, arbitrary: validValues(schema, resolve) }, { weight: 1, arbitrary: junk });
  const pairs = fc
    .subarray(inQuery)
    .chain((parameters) =>
      fc.tuple(...parameters.map(({ name, schema }) => values(schema).map((value): [string, unknown] => [name, value]))),
    );
  const strangers = fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.tuple(fc.constantFrom('x', 'limit', 'cursor', '__proto__', 'limit[]', 'a%00'), junk), { maxLength: 3 }),
    },
  );
  const bodies = content
    ? fc.oneof(
        { weight: 3, arbitrary: validValues(content.schema, resolve).map((value) => JSON.stringify(value)) },
        { weight: 4, arbitrary: mutatedValues(content.schema, resolve).map((value) => JSON.stringify(value) ?? '') },
        {
          weight: 1,
          arbitrary: fc.oneof(
            fc.string({ unit: anyCharacter }),
            fc.constantFrom('', '{', '[1', '{"a":1}{', '"\\ud800"', '{"name":"\\u0000"}', 'null', '[]', `${'['.repeat(20_000)}`),
          ),
        },
      )
    : fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant('{}') });
  const isForm = type === 'application/x-www-form-urlencoded';
  const toForm = (text: string) => {
    try {
      return query(Object.entries(JSON.parse(text) as object));
    } catch {
      return text;
    }
  };
  const types = fc.oneof(
    { weight: 8, arbitrary: fc.constant(type) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'application/jsonx', ';'),
    },
  );
  const segments = fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('%', '%00', '%ff', 'x', 'usr_', '..%2f', '%F0%9F%98%80', '%20', "'") },
  );
  const conditions = fc.oneof(printable, fc.constantFrom('*', '"1"', 'W/"1"', '"1", "2"', '"99999999999999999999"', '"'));
  const extra = fc.record(
    {
      'idempotency-key': printable,
      'x-request-id': printable,
      accept: fc.oneof(printable, fc.constantFrom('text/event-stream', 'application/json;q=0, text/event-stream', '*/*')),
      'if-match': conditions,
      'if-none-match': conditions,
      prefer: fc.oneof(printable, fc.constantFrom('respond-async', 'wait=1, respond-async')),
      traceparent: printable,
      'content-encoding': fc.constantFrom('gzip', 'x'),
    },
    { requiredKeys: [] },
  );
  return fc
    .record({
      pairs,
      strangers,
      body: bodies,
      type: types,
      segment: segments,
      extra: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, extra),
    })
    .map((parts) => {
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => parts.segment ?? ids[name] ?? 'x');
      const search = query([...parts.pairs, ...parts.strangers] as [string, unknown][]);
      const body = parts.body === undefined || !isForm ? parts.body : toForm(parts.body);
      const headers: Record<string, string> = Object.fromEntries(
        Object.entries(parts.extra).map(([name, value]) => [name, value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '')]),
      );
      if (body !== undefined && parts.type) headers['content-type'] = parts.type;
      return {
        path,
        method,
        request: {
          method: method.toUpperCase(),
          path: search ? `${target}?${search}` : target,
          headers,
          ...(body !== undefined && { body }),
        },
      };
    });
}

/** The fault of an answer; undefined if it conforms to the document. */
function fault({ path, method }: Shot, answer: ReceivedResponse): string | undefined {
  if (answer.status >= 500) return `status ${answer.status}: ${answer.text.slice(0, 300)}`;
  const documented = api.paths[path]?.[method]?.responses[String(answer.status)];
  // A mutated path may not belong to this operation: then the response is the general 404.
  if (!documented)
    return answer.status === 404 && JSON.parse(answer.text).error?.code === 'not_found'
      ? undefined
      : `status ${answer.status} is not documented: ${answer.text.slice(0, 200)}`;
  if (!documented.content) return answer.text === '' ? undefined : `a body where none is documented: ${answer.text.slice(0, 200)}`;
  const types = Object.keys(documented.content);
  const type = types.find((one) => answer.headers['content-type']?.startsWith(one));
  if (type === undefined) return `content type ${answer.headers['content-type']}, documented ${types}`;
  if (type === 'text/event-stream')
    return wholeStream.test(answer.text) ? undefined : `a stream without its end: ${answer.text.slice(-200)}`;
  const off = answers.faultsAt(
    ['paths', path, method, 'responses', String(answer.status), 'content', type, 'schema'],
    JSON.parse(answer.text),
  );
  return off && `off its schema: ${off}; ${answer.text.slice(0, 200)}`;
}

const wholeStream = /^event: (completed|failed)\n(?:id: [0-9a-f-]+\n)?data: .*\n\n$/m;

test(`${requests} random and mutated requests (TEST_SEED=${seed}) yield no 5xx and no response that violates its schema`, async () => {
  const targets = await Promise.all(
    Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(async (method) => {
        const route = routes.find((entry) => entry.path === path && entry.method === method.toUpperCase());
        return shots(path, method, route ? await makeIds(world, world.ours, route) : {});
      }),
    ),
  );
  const all = targets.flatMap((target, index) => fc.sample(target, { numRuns: Math.ceil(requests / targets.length), seed: seed + index }));
  expect(all.length).toBeGreaterThanOrEqual(requests);
  const queue = [...all];
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  const tokens = [world.ours.keys.live, world.ours.keys.test];
  async function shoot(): Promise<void> {
    for (let shot = queue.pop(); shot; shot = queue.pop()) {
      const answer = await world.call(tokens[queue.length % tokens.length], shot.request);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      const wrong = fault(shot, answer);
      if (wrong) faults.push(`${shot.request.method} ${shot.request.path} ${shot.request.body?.slice(0, 200) ?? ''} -> ${wrong}`);
    }
  }
  await Promise.all(Array.from({ length: inFlight }, shoot));
  expect(faults.slice(0, 10)).toEqual([]);
  // A run in which no request succeeds, or none is refused, tests nothing.
  expect(statuses['200'] ?? 0).toBeGreaterThan(requests / 20);
  expect(statuses['400'] ?? 0).toBeGreaterThan(requests / 20);
}, 120_000);

test('every route is in the document', () => {
  expect(routes.filter((route) => !api.paths[route.path]?.[route.method.toLowerCase()]).map(title)).toEqual([]);
});
