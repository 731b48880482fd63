import { ServiceError } from '@agent-service/contracts';
import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { oauthError } from '../src/schemas/errors.ts';
import { expectError } from './support/envelope.ts';
import { apiKey, type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

let peer: Peer;
let gateway: Gateway;
let calls: unknown[];

beforeAll(async () => {
  peer = await startPeer();
  gateway = await startGateway(peer, (await testRedis()).url, { RATE_LIMIT_TOKENS_PER_MINUTE: '100000' });
});

afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

beforeEach(() => {
  calls = [];
  peer.script.issueClientToken = async ({ clientId, clientSecret, scope }) => {
    calls.push({ clientId, clientSecret, scope });
    return { accessToken: 'a.b.c', expiresIn: 3600, scope: scope || 'users:read users:write' };
  };
});

const oauth = (body: string, headers: Record<string, string> = {}) =>
  ask(gateway.url, '/v1/auth/oauth/token', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` });
const complete = 'grant_type=client_credentials&client_id=app_1&client_secret=s3cret';

function expectOauthError(answer: Answer, status: number, error: string): void {
  expect({ status: answer.status, error: answer.body?.error, text: answer.text }).toMatchObject({ status, error });
  expect(oauthError.safeParse(answer.body).error).toBeUndefined();
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-request-id')).not.toBeNull();
}

describe('the client credentials grant', () => {
  test('with the credentials in the form', async () => {
    const answer = await oauth(`${complete}&scope=users%3Aread+audit%3Aread`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ access_token: 'a.b.c', token_type: 'Bearer', expires_in: 3600, scope: 'users:read audit:read' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(calls).toEqual([{ clientId: 'app_1', clientSecret: 's3cret', scope: 'users:read audit:read' }]);
  });

  test('with HTTP Basic, where an empty scope counts as none', async () => {
    expect((await oauth('grant_type=client_credentials&scope=', basic('app_1', 's%2Bcret'))).status).toBe(200);
    expect((await oauth('grant_type=client_credentials&client_id=app_1', basic('app_1', 's+cret'.replace('+', '%2B')))).status).toBe(200);
    expect(calls).toEqual([
      { clientId: 'app_1', clientSecret: 's+cret', scope: '' },
      { clientId: 'app_1', clientSecret: 's+cret', scope: '' },
    ]);
  });

  test.each([
    ['nothing at all', '', {}, 'invalid_request'],
    ['no grant type', 'client_id=a&client_secret=b', {}, 'invalid_request'],
    ['another grant type', 'grant_type=password&username=a&password=b', {}, 'unsupported_grant_type'],
    ['no client', 'grant_type=client_credentials', {}, 'invalid_request'],
    ['no secret', 'grant_type=client_credentials&client_id=a', {}, 'invalid_request'],
    ['an empty secret', 'grant_type=client_credentials&client_id=a&client_secret=', {}, 'invalid_request'],
    ['a field twice', `${complete}&client_id=app_1`, {}, 'invalid_request'],
    ['an unknown field', `${complete}&extra=1`, {}, 'invalid_request'],
    ['credentials in both places', complete, basic('app_1', 's3cret'), 'invalid_request'],
    ['two different clients', 'grant_type=client_credentials&client_id=b', basic('a', 's'), 'invalid_request'],
    ['no grant type with an unreadable client', 'scope=users%3Aread', { authorization: 'Basic !!!' }, 'invalid_request'],
    ['an unknown field with an unreadable client', 'grant_type=client_credentials&x=1', { authorization: 'Basic !!!' }, 'invalid_request'],
    ['bad encoding', 'grant_type=%zz', {}, 'invalid_request'],
    ['a NUL', `${complete}%00`, {}, 'invalid_request'],
  ])('%s is refused before the client is checked', async (_name, body, headers, error) => {
    expectOauthError(await oauth(body, headers), 400, error);
    expect(calls).toEqual([]);
  });

  test('with wrong credentials is refused with a challenge', async () => {
    peer.script.issueClientToken = async () => {
      throw new ServiceError('invalid_client');
    };
    for (const answer of [
      await oauth(complete),
      await oauth('grant_type=client_credentials', basic('a', 'b')),
      await oauth('grant_type=client_credentials', { authorization: 'Basic !' }),
    ]) {
      expectOauthError(answer, 401, 'invalid_client');
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="agent-service"');
    }
  });

  test('with a scope that the client does not have is invalid_scope', async () => {
    peer.script.issueClientToken = async () => {
      throw new ServiceError('invalid_scope', { message: 'This client may not request: "x"' });
    };
    expectOauthError(await oauth(`${complete}&scope=x`), 400, 'invalid_scope');
  });

  test('returns all other errors in the flat form of OAuth', async () => {
    expectOauthError(
      await ask(gateway.url, '/v1/auth/oauth/token', { method: 'POST', json: { grant_type: 'client_credentials' } }),
      415,
      'invalid_request',
    );
    peer.script.issueClientToken = async () => {
      throw new TypeError('a bug');
    };
    expectOauthError(await oauth(complete), 500, 'server_error');
  });
});

describe('the exchange of an API key', () => {
  const issue = (json: unknown) => ask(gateway.url, '/v1/auth/token', { method: 'POST', json });

  test('returns a token', async () => {
    const answer = await issue({ api_key: apiKey('a') });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: { access_token: 'a.b.c', token_type: 'Bearer', expires_in: 3600, expires_at: '2026-01-31T11:00:00.000Z' },
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('refuses text that is no key without a call to identity', async () => {
    peer.script.issueToken = async () => {
      throw new Error('must not be asked');
    };
    for (const api_key of ['', 'x', `${apiKey('a')}x`]) {
      const answer = await issue({ api_key });
      expectError(answer, 401, 'invalid_token');
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    }
    expectError(await issue({}), 400, 'invalid_request');
    expectError(await issue({ api_key: 1 }), 400, 'invalid_request');
  });
});
