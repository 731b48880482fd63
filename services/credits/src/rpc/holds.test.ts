import type { Call } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import type { CreditsDeps } from '../deps.ts';
import type { Result } from '../domain/operations.ts';
import { hold, release } from './holds.ts';

const call = { expiresAt: performance.now() + 30_000 } as Call;

/** Handlers whose ledger has these results, in their order. */
function handlersWith(results: readonly Result[]) {
  const logged: object[] = [];
  const left = [...results];
  const queue: CreditsDeps['queue'] = { submit: async () => left.shift() ?? Promise.reject(new Error('no result is left')) };
  const logger = { error: (line: object) => void logged.push(line) };
  const deps = { logger, queue, prices: {} } as unknown as CreditsDeps;
  return { hold: hold(deps), release: release(deps), logged };
}

const tenant = { organizationId: 'org_1', environment: 'live' };

test('the result of another kind of operation fails its item instead of a hold of 0 credits', async () => {
  const { hold, logged } = handlersWith([
    { ok: true, kind: 'release', released: 4 },
    { ok: true, kind: 'hold', amount: 4 },
  ]);
  const item = { tenant, userId: 'usr_1', amount: 4, tier: 'Fast', deadlineMs: '0' };
  const { results } = await hold.handle({ items: ['msg_1', 'msg_2'].map((holdId) => ({ ...item, holdId })) }, call);
  expect(results).toEqual([{ refusal: { code: 'internal', shortage: null } }, { held: 4 }]);
  const err = new Error('a hold has the result of a release');
  expect(logged).toEqual([{ event: 'operation_failed', organization_id: 'org_1', code: 'internal', err }]);
});

test('the result of another kind of operation fails its item instead of a release of 0 credits', async () => {
  const { release } = handlersWith([{ ok: true, kind: 'settle', charge: 3 }]);
  const { results } = await release.handle({ items: [{ tenant, holdId: 'msg_1' }] }, call);
  expect(results).toEqual([{ refusal: { code: 'internal', shortage: null } }]);
});
