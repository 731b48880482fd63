// The Docker engine of this machine. The tags that the documents name and that it did not have before are removed afterwards.
import { spawnSync } from 'node:child_process';

const answerLimitMs = 10_000;
/** The tags of docs/guides/testing.md; a container of a test is started from the second. */
const tags = ['agent-service:0.1.0', 'agent-service-embedded:0.1.0'];

/** True if the command ends with 0, in time. */
export const succeeds = (command, ...words) => spawnSync(command, words, { stdio: 'ignore', timeout: answerLimitMs }).status === 0;

/** Removes the tags that the engine did not have when this was called; layers stay as a cache. */
export function rememberImages(names) {
  const added = names.filter((name) => !succeeds('docker', 'image', 'inspect', name));
  return () => void spawnSync('docker', ['image', 'rm', ...added], { stdio: 'ignore' });
}

export const docker = {
  findLack: () => (succeeds('docker', 'info') ? undefined : 'no Docker engine answers'),
  prepare: () => ({
    env: { TESTCONTAINERS_RYUK_DISABLED: process.env.TESTCONTAINERS_RYUK_DISABLED ?? 'true' },
    finish: rememberImages(tags),
  }),
};
