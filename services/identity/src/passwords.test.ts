import { expect, test } from '@jest/globals';
import { createPasswords } from './passwords.ts';

test('a wrong password costs one hash, whether the address is unknown or has a hash under the key of before', async () => {
  let hashes = 0;
  const limiter = {
    run: <T>(_lane: string, work: () => Promise<T>) => {
      hashes += 1;
      return work();
    },
  };
  const [former, present] = [1, 2].map((byte) => createPasswords(Buffer.alloc(32, byte), limiter as never));
  const input = { email: 'ada@example.com', lane: 'a', signal: new AbortController().signal };
  const hash = await former?.hash({ ...input, password: 'correct horse battery' });
  const user = { hash: hash ?? null };
  const costOf = async (password: string, users: readonly { hash: string | null }[]) => {
    hashes = 0;
    const matching = await present?.matching({ ...input, password }, users);
    return [matching, hashes];
  };
  expect(await costOf('wrong horse battery', [])).toEqual([[], 1]);
  expect(await costOf('wrong horse battery', [{ hash: null }])).toEqual([[], 1]);
  expect(await costOf('wrong horse battery', [user])).toEqual([[], 1]);
  expect(await costOf('correct horse battery', [user, { hash: null }])).toEqual([[user], 1]);
  expect(present?.isCurrent(user.hash ?? '', input.email)).toBe(false);
});
