import { type CallContext, currentCall, withCall } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { createSessions } from './sessions.ts';

const token = 't'.repeat(30);
const user = { id: 'usr_1', name: '', email: '', role: 'member', status: 'active' };

/** Identity, whose answers a test decides, with the contexts of the calls that it got. */
function scriptedIdentity() {
  const calls: (CallContext | undefined)[] = [];
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  const reply = async <Reply>(value: Reply) => {
    const call = currentCall();
    calls.push(call);
    await promise;
    call?.signal?.throwIfAborted();
    return value;
  };
  const identity = {
    resumeSession: () => reply({ session: { user } }),
    issueSessionToken: () => reply({ accessToken: 'token', expiresIn: 180 }),
  };
  return { calls, answer, sessions: createSessions(identity as never) };
}

test('requests that share a look-up do not depend on the first of them', async () => {
  const { calls, answer, sessions } = scriptedIdentity();
  const browser = new AbortController();
  const withFirst = <T>(work: () => Promise<T>) =>
    withCall({ requestId: 'first', expiresAt: performance.now() + 50, signal: browser.signal }, work);
  const session = { token, user } as never;
  const apiToken = () => sessions.withApiToken(session, 'live', async (accessToken) => accessToken);
  const first = [withFirst(() => sessions.resume(token)), withFirst(apiToken)];
  const second = [sessions.resume(token), apiToken()];
  browser.abort();
  answer();
  expect(await Promise.all([...first, ...second])).toEqual([
    expect.objectContaining({ token }),
    'token',
    expect.objectContaining({ token }),
    'token',
  ]);
  expect(calls.map((call) => [call?.requestId, call?.signal])).toEqual([
    ['first', undefined],
    ['first', undefined],
  ]);
  for (const { expiresAt = 0 } of calls.map((call) => call ?? { expiresAt: 0 }))
    expect(expiresAt - performance.now()).toBeGreaterThan(5_000);
});
