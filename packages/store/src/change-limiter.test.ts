import { expect, test } from '@jest/globals';
import { createChangeLimiter } from './change-limiter.ts';

type ChangeCall = Parameters<ReturnType<typeof createChangeLimiter>['run']>[0];

const callOf = (organizationId: string, scope?: string): ChangeCall => ({
  principal: { organizationId },
  signal: new AbortController().signal,
  requestedOnce: scope === undefined ? undefined : { scope, fingerprint: 'f' },
});

/** A change that ends when the test says so. */
function startedChange(changes: ReturnType<typeof createChangeLimiter>, call: ChangeCall) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasBegun = false;
  const done = changes.run(call, () => {
    hasBegun = true;
    return promise;
  });
  return { done, end: resolve, hasBegun: () => hasBegun };
}

test('changes of one organization run one after the other, those of others beside them', async () => {
  const changes = createChangeLimiter(4);
  const [first, second, other] = [callOf('org_a'), callOf('org_a'), callOf('org_b')].map((call) => startedChange(changes, call));
  await new Promise(setImmediate);
  expect([first?.hasBegun(), second?.hasBegun(), other?.hasBegun()]).toEqual([true, false, true]);
  first?.end();
  await first?.done;
  await new Promise(setImmediate);
  expect(second?.hasBegun()).toBe(true);
});

test('changes use at most half of the connections', async () => {
  const changes = createChangeLimiter(4);
  const started = ['org_a', 'org_b', 'org_c'].map((organizationId) => startedChange(changes, callOf(organizationId)));
  await new Promise(setImmediate);
  expect(started.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false]);
});

test('a repeated Idempotency-Key is refused while the first change waits or runs, and not after it', async () => {
  const changes = createChangeLimiter(4);
  const first = startedChange(changes, callOf('org_a', 'key'));
  await expect(changes.run(callOf('org_a', 'key'), async () => 'again')).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  first.end();
  await first.done;
  await expect(changes.run(callOf('org_a', 'key'), async () => 'again')).resolves.toBe('again');
});

test('an organization with too many waiting changes is refused, and another is not', async () => {
  const changes = createChangeLimiter(4);
  const blocking = startedChange(changes, callOf('org_a'));
  const waiting = Array.from({ length: 250 }, () => changes.run(callOf('org_a'), async () => 'done'));
  await expect(changes.run(callOf('org_a'), async () => 'done')).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(changes.run(callOf('org_b'), async () => 'done')).resolves.toBe('done');
  blocking.end();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['done']));
});
