import { allScopes } from '@agent-service/contracts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute as routes } from '../../src/routes/index.ts';
import type { Route } from '../../src/routing/route.ts';
import { lastingState, untilOutboxesAreEmpty } from './database.ts';
import { makeIds, makers, parametersOf, title, validRequest } from './requests.ts';
import { startWorld, type World, withWebhooks } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld(withWebhooks);
});
afterAll(() => world?.stop());

const authenticated = routes.filter((route) => route.auth === 'token');

test('there is a maker for every path parameter', () => {
  expect(routes.flatMap(parametersOf).filter((name) => !makers[name])).toEqual([]);
});

describe('without a valid token every route is a 401', () => {
  test.each(authenticated.map((route) => [title(route), route] as const))('%s', async (_, route) => {
    for (const [token, code] of [
      [undefined, 'missing_token'],
      ['nonsense', 'invalid_token'],
      [`${world.ours.keys.live}x`, 'invalid_token'],
    ] as const) {
      const answer = await world.call(token, validRequest(route, {}));
      expect([answer.status, answer.json<{ error: { code: string } }>().error.code]).toEqual([401, code]);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
  });
});

describe('a scope allows its own endpoints only', () => {
  const keys = new Map<string, string>();
  beforeAll(async () => {
    for (const scope of allScopes) keys.set(scope, (await world.makeKey(world.ours, 'live', { scopes: [scope], admin: true })).key);
  });

  const scoped = authenticated.filter((route) => route.scope);
  test.each(scoped.map((route) => [title(route), route] as const))('%s', async (_, route) => {
    const request = validRequest(route, await makeIds(world, world.ours, route));
    for (const scope of allScopes.filter((other) => other !== route.scope)) {
      const answer = await world.call(keys.get(scope), request);
      const { error } = answer.json<{ error: { code: string; details: object } }>();
      expect([scope, answer.status, error.code]).toEqual([scope, 403, 'insufficient_scope']);
      expect(error.details).toEqual({ required: [route.scope], granted: [scope] });
      expect(answer.headers['www-authenticate']).toContain(`scope="${route.scope}"`);
    }
    // The resource that the others were refused exists, and is open to this scope.
    expect((await world.call(keys.get(route.scope as string), request)).status).toBeLessThan(300);
  });

  test('a token with that scope alone allows the same', async () => {
    const application = await world.operator.createOauthClient({ organizationId: world.ours.id, environment: 'live' });
    const body = (scope: string) =>
      new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: application.clientId,
        client_secret: application.clientSecret,
        scope,
      }).toString();
    const requests = new Map<Route, ReturnType<typeof validRequest>>();
    for (const route of scoped) requests.set(route, validRequest(route, await makeIds(world, world.ours, route)));
    for (const scope of allScopes) {
      const granted = await world.call(undefined, {
        method: 'POST',
        path: '/v1/auth/oauth/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: body(scope),
      });
      const { access_token: token } = granted.json<{ access_token: string }>();
      for (const route of scoped.filter(({ admin }) => !admin)) {
        const { status } = await world.call(token, requests.get(route) as ReturnType<typeof validRequest>);
        expect([title(route), scope, status === 403]).toEqual([title(route), scope, scope !== route.scope]);
      }
    }
  });
});

describe('an endpoint for administrators refuses all other callers', () => {
  test.each(authenticated.filter((route) => route.admin).map((route) => [title(route), route] as const))('%s', async (_, route) => {
    const { key } = await world.makeKey(world.ours, 'live');
    const ids = await makeIds(world, world.ours, route);
    const answer = await world.call(key, validRequest(route, ids));
    expect([answer.status, answer.json<{ error: { code: string } }>().error.code]).toEqual([403, 'admin_required']);
    expect((await world.call(world.ours.keys.live, validRequest(route, ids))).status).toBeLessThan(300);
  });
});

describe('resources of other tenants are a 404, and do not change', () => {
  const isOf = (owner: 'everyone' | 'environment') => (route: Route) =>
    parametersOf(route).some((name) => makers[name]?.belongsTo === owner);
  const identified = authenticated.filter((route) => parametersOf(route).length > 0 && !isOf('everyone')(route));
  const titled = (of: readonly Route[]) => of.map((route) => [title(route), route] as const);
  // A test credential cannot change users, and its error does not reveal if they exist.
  const isLiveOnly = (route: Route) => route.scope === 'users:write';
  const requests = new Map<Route, ReturnType<typeof validRequest>>();
  const stateNow = () => lastingState(world.system.endpoints['postgres'] ?? '');
  let before: Awaited<ReturnType<typeof lastingState>>;
  beforeAll(async () => {
    for (const route of identified) requests.set(route, validRequest(route, await makeIds(world, world.ours, route)));
    await untilOutboxesAreEmpty(world.system.endpoints['postgres'] ?? '');
    before = await stateNow();
  });

  test.each(titled(identified))('%s', async (_, route) => {
    const strangers = [world.theirs.keys.live, ...(isLiveOnly(route) ? [] : [world.theirs.keys.test])];
    if (isOf('environment')(route)) strangers.push(world.ours.keys.test);
    for (const stranger of strangers) {
      const answer = await world.call(stranger, requests.get(route) as ReturnType<typeof validRequest>);
      expect([answer.status, answer.json<{ error: { code: string } }>().error.code]).toEqual([404, 'not_found']);
    }
    expect((await world.call(world.ours.keys.live, validRequest(route, {}))).status).toBe(404);
  });

  test('none of these requests has changed a row', async () => {
    expect(await stateNow()).toEqual(before);
  });

  test.each(titled(identified.filter((route) => !isOf('environment')(route) && !isLiveOnly(route))))(
    '%s is open to the other environment of the organization',
    async (_, route) => {
      const answer = await world.call(world.ours.keys.test, requests.get(route) as ReturnType<typeof validRequest>);
      expect(answer.status).toBeLessThan(300);
    },
  );
});

describe('lists show their own tenant only', () => {
  const withoutIds = ['/v1/templates', '/v1/data-source'];
  test.each(
    authenticated
      .filter((route) => route.method === 'GET' && parametersOf(route).length === 0 && !withoutIds.includes(route.path))
      .map((route) => [title(route), route] as const),
  )('%s', async (_, route) => {
    await untilOutboxesAreEmpty(world.system.endpoints['postgres'] ?? '');
    const ours = await world.call(world.ours.keys.live, validRequest(route, {}));
    const theirs = await world.call(world.theirs.keys.live, validRequest(route, {}));
    const idsOf = (text: string) => new Set(text.match(/\b(?:usr|key|aud|org|app|agt|use|conv|msg|whk|dlv|evt)_[0-9a-z]{26}\b/g));
    expect(idsOf(ours.text).size).toBeGreaterThan(0);
    expect([...idsOf(theirs.text)].filter((id) => idsOf(ours.text).has(id))).toEqual([]);
  });
});
