import { expect, test } from '@jest/globals';
import { publishedKeys } from './published-keys.ts';

test('keys are never older than a second, however slowly identity answered', async () => {
  let now = 0;
  let calls = 0;
  const identity = {
    listSigningKeys: async () => {
      calls++;
      now += 400;
      return { keys: [{ kid: `k${calls}`, n: 'n', e: 'e' }] };
    },
  };
  const keys = publishedKeys(identity as never, () => now);
  expect(await keys()).toMatchObject([{ kid: 'k1' }]);
  now = 999;
  expect(await keys()).toMatchObject([{ kid: 'k1' }]);
  now = 1_000;
  expect(await keys()).toMatchObject([{ kid: 'k2' }]);
});
