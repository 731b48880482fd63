import { expect, test } from '@jest/globals';
import { createPasswords } from './passwords.ts';

let hashes = 0;
const limiter = {
  run: <T>(_lane: string, work: () => Promise<T>) => {
    hashes += 1;
    return work();
  },
};
const input = { email: 'ada@example.com', lane: 'a', signal: new AbortController().signal };

test('a wrong password costs one hash, whether the address is unknown or has a hash under the key of before', async () => {
  const [former, present] = [1, 2].map((byte) => createPasswords(Buffer.alloc(32, byte), limiter as never));
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

test('users of the address whose hashes are of other addresses keep no correct password out, and cost four hashes', async () => {
  const passwords = createPasswords(Buffer.alloc(32, 1), limiter as never);
  const password = 'correct horse battery';
  const hashOf = async (email: string) => ({ hash: await passwords.hash({ ...input, email, password: `the one of ${email}` }) });
  const others = await Promise.all(['b', 'c', 'd', 'e', 'f'].map((name) => hashOf(`${name}@example.com`)));
  const user = { hash: await passwords.hash({ ...input, password }) };
  hashes = 0;
  expect(await passwords.matching({ ...input, password }, [...others, user])).toEqual([user]);
  expect(hashes).toBe(4);
});
