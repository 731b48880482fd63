import { afterEach, expect, jest, test } from '@jest/globals';
import type { Connection } from './connection.ts';
import { buildProgram } from './program.ts';

afterEach(() => {
  process.exitCode = undefined;
  jest.restoreAllMocks();
});

/** The command's output and exit code for this reply of agents. */
async function remove(removed: boolean, ...options: readonly string[]) {
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  const connection = { agents: { removeDataSource: async () => ({ removed }) }, close: () => undefined } as unknown as Connection;
  const words = [...options, 'data-source', 'remove', '--organization', 'org_nope', '--environment', 'live'];
  await buildProgram({}, () => connection).parseAsync(words, { from: 'user' });
  return { text: written.join(''), code: process.exitCode ?? 0 };
}

test('what was removed is said to be', async () => {
  expect(await remove(true)).toEqual({ text: 'organization_id: org_nope\nenvironment: live\nremoved: true\n', code: 0 });
});

test('where nothing was connected, that is said, and the command ends as where something is not found', async () => {
  expect(await remove(false)).toEqual({ text: expect.stringMatching(/removed: false\nmessage: No data source is connected/), code: 1 });
  const { text } = await remove(false, '--json');
  expect(JSON.parse(text)).toMatchObject({ removed: false, organization_id: 'org_nope' });
});
