import { join } from 'node:path';
import { repositoryRoot } from '@agent-service/local/host/environment';

/** Settings of the tests' infrastructure, and the values that it passes to its workers. No other file of this package reads the environment. */
const env = process.env;

export type InfrastructureKind = 'docker' | 'embedded';

/** `docker` and `embedded` force one; unset means whichever this machine can. */
export function forcedKind(): InfrastructureKind | undefined {
  const value = env['TEST_INFRASTRUCTURE'];
  if (!value) return undefined;
  if (value === 'docker' || value === 'embedded') return value;
  throw new Error(`TEST_INFRASTRUCTURE must be docker or embedded, not "${value}"`);
}

/** The Redis of whole systems: one server as a rule, and with TEST_REDIS=cluster a cluster of three primaries each. */
export function systemRedisKind(): 'single' | 'cluster' {
  const value = env['TEST_REDIS'] || 'single';
  if (value === 'single' || value === 'cluster') return value;
  throw new Error(`TEST_REDIS must be single or cluster, not "${value}"`);
}

/** True if whole systems reach their database through a PgBouncer in transaction mode. */
export const hasPooler = env['TEST_POOLER'] === 'pgbouncer';

export const images = {
  postgres: env['TEST_POSTGRES_IMAGE'] || 'postgres:17-alpine',
  redis: env['TEST_REDIS_IMAGE'] || 'redis:7-alpine',
};

/** The cleaner container that Testcontainers would start needs one more image; the tests stop what they start themselves. */
export function disableRyukByDefault(): void {
  env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
}

/** True if the tests start processes from the sources and not from their build. */
export const runsSources = env['TEST_SOURCES'] === 'true';

const buildVariable = 'AGENT_SERVICE_TEST_BUILD';

/** The folder of the build that the tests start processes from; undefined if they start them from the sources. */
export const testBuild = env[buildVariable];

/** The file that Node runs for a process: of the build, if the tests use one, as its sources take a second to load. */
export const mainFileOf = (process: string, source: string): string =>
  testBuild === undefined ? join(repositoryRoot, source) : join(testBuild, `${process}.js`);

export function publishBuild(folder: string): void {
  env[buildVariable] = folder;
}

/** The folder of temporary files that this machine's user has chosen. */
export const givenTemporaryFolder = env['TMPDIR'];

/** All that a started process takes over from the machine; a test's settings are its own. Compiled code is kept over all tests. */
export const machineEnvironment = {
  PATH: env['PATH'] ?? '',
  HOME: env['HOME'] ?? '',
  ...(givenTemporaryFolder !== undefined && { TMPDIR: givenTemporaryFolder }),
  NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] ?? join(testBuild ?? join(repositoryRoot, '.cache'), 'compile-cache'),
};

export const dockerHost = env['DOCKER_HOST'];

/** The global setup publishes this for the test files. */
export interface SharedInfrastructure {
  readonly kind: InfrastructureKind;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** A folder of this run that the global teardown removes. */
  readonly folder: string;
}

const variable = 'AGENT_SERVICE_TEST_INFRASTRUCTURE';

export function publishInfrastructure(infrastructure: SharedInfrastructure): void {
  env[variable] = JSON.stringify(infrastructure);
}

export function sharedInfrastructure(): SharedInfrastructure {
  const value = env[variable];
  if (value === undefined) throw new Error('the tests have no infrastructure: run them with npm test, whose global setup starts it');
  return JSON.parse(value) as SharedInfrastructure;
}

/** Logical databases of the shared Redis: one for each test file that asks. */
export const redisDatabases = 2048;

/** A PostgreSQL and a Redis that run, with the administrator's URLs. */
export interface StartedServers {
  readonly kind: InfrastructureKind;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  stop(): Promise<void>;
}
