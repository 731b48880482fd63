import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
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

// The first process of a container has no default for a signal.
test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a command that waits, with the exit code %s', async (signal, code) => {
  const silent = createServer();
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const { port } = silent.address() as AddressInfo;
  const env = { ...process.env, SERVICE_SECRET: 'x'.repeat(32), IDENTITY_ADDRESS: `127.0.0.1:${port}` };
  const command = spawn(process.execPath, [program, 'signing-key', 'rotate'], { env, stdio: 'ignore' });
  const [socket] = (await once(silent, 'connection')) as [Socket];
  command.kill(signal);
  expect(await once(command, 'exit')).toEqual([code, null]);
  socket.destroy();
  silent.close();
});
