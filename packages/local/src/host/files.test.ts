import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { writeFileAtomically } from './files.ts';

test('a file that cannot be replaced leaves no draft behind', async () => {
  const folder = await testFolder();
  mkdirSync(join(folder, 'taken'));
  expect(() => writeFileAtomically(join(folder, 'taken'), 'content')).toThrow();
  expect(readdirSync(folder)).toEqual(['taken']);
});
