import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '@agent-service/local/host/environment';
import { type Ownership, takeFolder } from '@agent-service/local/processes/ownership';
import { reasonOf } from '@agent-service/runtime/failures';
import { startEmbedded } from './embedded.ts';
import { makeRunFolder, removeRunFolder, sweepDeadRuns } from './run-folder.ts';
import { dockerHost, forcedKind, publishBuild, publishInfrastructure, runsSources, type StartedServers } from './settings.ts';

/** The servers and the folder of one run of the tests. */
export interface Run {
  readonly folder: string;
  /** Stops everything and removes the folder; a second call waits for the first. */
  stop(): Promise<void>;
}

/** Starts the servers that the tests of this run share, and leaves nothing if that fails. */
export async function startRun(): Promise<Run> {
  await sweepDeadRuns();
  if (!runsSources) publishBuild(await buildProcesses());
  const folder = await makeRunFolder();
  let servers: StartedServers | undefined;
  let stopping: Promise<void> | undefined;
  const stopAll = async () => {
    await servers?.stop();
    await removeRunFolder(folder);
  };
  const run: Run = { folder, stop: () => (stopping ??= stopAll()) };
  try {
    servers = await startServers(folder, await takeFolder(folder));
    const { kind, postgresUrl, redisUrl } = servers;
    publishInfrastructure({ kind, postgresUrl, redisUrl, folder });
    return run;
  } catch (cause) {
    await run.stop();
    throw cause;
  }
}

/** Builds what these sources describe, unless that has been done, and returns the folder. */
async function buildProcesses(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(repositoryRoot, 'scripts', 'build.mjs')]);
  return stdout.trim();
}

async function startServers(folder: string, ownership: Ownership): Promise<StartedServers> {
  const forced = forcedKind();
  if (forced === 'embedded') return announce(await startEmbedded(folder, ownership));
  if (forced === 'docker') return announce(await startInDocker());
  if (!mayHaveDocker()) return announce(await startEmbedded(folder, ownership), 'no Docker engine');
  try {
    return announce(await startInDocker());
  } catch (cause) {
    return announce(await startEmbedded(folder, ownership), `Docker: ${reasonOf(cause).trim().split('\n')[0]}`);
  }
}

/** Loaded only when used: Testcontainers takes longer to load than the embedded servers take to start. */
async function startInDocker(): Promise<StartedServers> {
  const { startDocker } = await import('./docker.ts');
  return await startDocker();
}

function announce(servers: StartedServers, why?: string): StartedServers {
  const what = servers.kind === 'docker' ? 'containers (Testcontainers)' : 'embedded binaries';
  process.stdout.write(`Tests run on PostgreSQL and Redis from ${what}${why ? `: ${why}` : ''}\n`);
  return servers;
}

/** Checks the usual paths of Docker, so that a machine without Docker does not pay for asking an engine. */
function mayHaveDocker(): boolean {
  const sockets = ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock'), join(homedir(), '.colima/default/docker.sock')];
  return Boolean(dockerHost) || sockets.some((socket) => existsSync(socket));
}

let current: Run | undefined;

/** The run that the global setup started, for the global teardown of the same process. */
export const currentRun = {
  get: () => current,
  set: (run: Run) => {
    current = run;
  },
};
