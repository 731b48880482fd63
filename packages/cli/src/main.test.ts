import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));

test('a reader that has gone is one line and the exit code 1', async () => {
  const command = `(trap '' PIPE; "$0" "$1" service-keys print --service gateway; echo "code $?" >&2) | true`;
  const env = { ...process.env, SERVICE_SECRET: 'a-secret-of-at-least-32-characters-for-this-test' };
  const { stderr } = await promisify(execFile)('sh', ['-c', command, process.execPath, program], { env });
  expect(stderr).toBe('The output cannot be written: write EPIPE\ncode 1\n');
});
