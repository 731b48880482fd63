import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createOpenApi } from '../src/openapi/document.ts';
import { everyRoute } from '../src/routes/index.ts';
import { listTemplates } from '../src/routes/templates.ts';
import { deprecationHeaders } from '../src/routing/deprecation.ts';
import type { Route } from '../src/routing/route.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('d');
const link = 'https://agents.example.com/docs/versioning';
const deprecation = { since: '2026-12-01', sunset: '2027-06-01', link };

let peer: Peer;
let gateway: Gateway;
beforeAll(async () => {
  // No operation is deprecated yet.
  expect(everyRoute.filter((route) => route.deprecation)).toEqual([]);
  (listTemplates as { deprecation?: Route['deprecation'] }).deprecation = deprecation;
  peer = await startPeer();
  admit(peer, { [token]: caller('d') });
  gateway = await startGateway(peer, (await testRedis()).url);
});
afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

const noticeOf = ({ headers }: { headers: Headers }) => ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
const expected = [
  '@1796083200',
  'Tue, 01 Jun 2027 00:00:00 GMT',
  `<${link}>; rel="deprecation"; type="text/html", <${link}>; rel="sunset"; type="text/html"`,
];

test('every answer of a deprecated operation says since when, until when, and what to do', async () => {
  expect(noticeOf(await ask(gateway.url, '/v1/templates', { token }))).toEqual(expected);
  const refusal = await ask(gateway.url, '/v1/templates?limit=0', { token });
  expect([refusal.status, ...noticeOf(refusal)]).toEqual([400, ...expected]);
  const stranger = await ask(gateway.url, '/v1/templates');
  expect([stranger.status, ...noticeOf(stranger)]).toEqual([401, ...expected]);
});

test('other operations say nothing', async () => {
  expect(noticeOf(await ask(gateway.url, '/v1/agents', { token }))).toEqual([null, null, null]);
});

test('the document marks the operation', () => {
  const operation = createOpenApi(everyRoute, '/').paths?.['/v1/templates']?.get as Record<string, unknown>;
  expect([operation['deprecated'], operation['x-sunset']]).toEqual([true, '2027-06-01']);
  expect(operation['description']).toContain('Deprecated since 2026-12-01');
});

test('an operation cannot end before it is deprecated, nor on a day that is none', () => {
  expect(deprecationHeaders({ since: '2026-12-01', link })).toHaveLength(4);
  for (const days of [{ since: '2026-12-01', sunset: '2026-11-30' }, { since: 'soon' }, { since: '2026-12-01', sunset: 'later' }])
    expect(() => deprecationHeaders({ ...days, link })).toThrow(RangeError);
});
