// A benchmark that is ended by a signal leaves no server and no folder: both would be beside the next measurement.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

let folder;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
  // As root, PostgreSQL runs as another user and must get through to its cluster.
  chmodSync(folder, 0o711);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The process id of the PostgreSQL that accepts connections in the folder. */
function readServer() {
  try {
    const [data] = readdirSync(folder);
    const lines = readFileSync(join(folder, data, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
    return lines[7]?.trim() === 'ready' ? Number(lines[0]) : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a signal ends a scenario with its servers and folders', async () => {
  const bench = spawn('node_modules/.bin/node', ['bench/src/main.ts', 'query-gates'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(bench, 'exit');
  let server;
  while (server === undefined && bench.exitCode === null) {
    await pause(20);
    server = readServer();
  }
  expect(isAlive(server)).toBe(true);
  bench.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(isAlive(server)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});
