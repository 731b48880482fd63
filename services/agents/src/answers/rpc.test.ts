import { newId, ServiceError } from '@agent-service/contracts';
import { expect, jest, test } from '@jest/globals';
import { startAnswer } from './rpc.ts';

type Deps = Parameters<typeof startAnswer>[0];

test('items that fail alone for a reason that their callers are not told are logged in one line', async () => {
  const logger = { warn: jest.fn() };
  const now = Date.UTC(2026, 10, 23);
  const { handle } = startAnswer({ answers: { accept: jest.fn() }, logger, now: () => now } as unknown as Deps);
  const principal = { organizationId: 'org_1', environment: 'live', userId: 'user_1', scopes: ['agents:chat'] };
  const item = { principal, answerId: newId('msg', now + 120_000), agentId: 'agt_1' };
  const items = [item, item, { ...item, answerId: 'none' }];
  const { results } = await handle({ items } as never, { signal: new AbortController().signal } as never);
  expect(results?.map(({ refusal }) => refusal?.code)).toEqual(['unavailable', 'unavailable', 'invalid_request']);
  expect(logger.warn.mock.calls).toEqual([[{ event: 'items_failed', items: 2, code: 'unavailable', err: expect.any(ServiceError) }]]);
  const [[line]] = logger.warn.mock.calls as unknown as [[{ err: ServiceError }]];
  expect(line.err.cause).toEqual(new Error('the time in answer_id is 120000 ms ahead of this process'));
});
