import { expect, test } from '@jest/globals';
import { publishedKeys } from './published-keys.ts';

test('keys are never older than ten seconds, however long identity took to tell them', async () => {
  let now = 0;
  let asked = 0;
  const identity = {
    listSigningKeys: async () => {
      asked++;
      now += 4_000;
      return { keys: [{ kid: `k${asked}`, n: 'n', e: 'e' }] };
    },
  };
  const keys = publishedKeys(identity as never, () => now);
  expect(await keys()).toMatchObject([{ kid: 'k1' }]);
  now = 9_999;
  expect(await keys()).toMatchObject([{ kid: 'k1' }]);
  now = 10_000;
  expect(await keys()).toMatchObject([{ kid: 'k2' }]);
});
