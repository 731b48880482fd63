// The reference page offers to send each operation with the examples of the document: what is sent then has to work.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute } from '../../src/routes/index.ts';
import { type DemonstrationWorld, openDemonstrationWorld } from './demonstration.ts';
import { makeIds, title } from './requests.ts';

interface Media {
  readonly example?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly example?: unknown;
  readonly schema?: { readonly example?: unknown };
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
}

let opened: DemonstrationWorld<Operation>;
beforeAll(async () => {
  opened = await openDemonstrationWorld();
}, 120_000);
afterAll(() => opened?.world.stop());

const exampleOf = ({ example, schema }: Parameter) => example ?? schema?.example;

/** The body of the example, with the credentials of this system. */
function bodyOf({ requestBody }: Operation): { type: string; body: string } | undefined {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === undefined || media === undefined) return undefined;
  expect(media.example).toBeDefined();
  const fields = Object.entries(media.example as Record<string, unknown>).map(([name, value]) => [name, opened.own[name] ?? value]);
  const body = Object.fromEntries(fields) as Record<string, string>;
  return { type, body: type === 'application/json' ? JSON.stringify(body) : new URLSearchParams(body).toString() };
}

describe('an operation that is sent with the examples of the document works:', () => {
  test.each(everyRoute.map((route) => [title(route), route] as const))('%s', async (_, route) => {
    const operation = opened.operations[route.path]?.[route.method.toLowerCase()] as Operation;
    const ids = await makeIds(opened.world, opened.demonstration, route);
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? '');
    const examplesIn = (location: Parameter['in']) =>
      Object.fromEntries(
        (operation.parameters ?? []).flatMap((one) =>
          one.in === location && exampleOf(one) !== undefined ? [[one.name, String(exampleOf(one))]] : [],
        ),
      );
    const query = new URLSearchParams(examplesIn('query'));
    const headers = examplesIn('header');
    const body = bodyOf(operation);
    const token = route.auth === 'token' ? opened.demonstration.keys.live : undefined;
    const answer = await opened.world.call(token, {
      method: route.method,
      path: query.size > 0 ? `${path}?${query}` : path,
      headers: { ...headers, ...(body && { 'content-type': body.type }) },
      ...(body && { body: body.body }),
    });
    expect(answer.status < 300 ? '' : answer.text).toBe('');
  });
});
