import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { keyVariablesOf, readModelsFile } from '@agent-service/models/models-file';
import { ConfigurationError } from '@agent-service/runtime/config';
import { OperatorFault } from '@agent-service/runtime/failures';
import { ownBuild, repositoryRoot } from '../host/environment.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { childEnvironment } from './environment.ts';
import { parseReplicas } from './plan.ts';
import { checkServiceSecret, placeholderSecrets } from './secrets.ts';
import { type LocalSettings, readLocalSettings } from './settings.ts';
import type { CheckedProcess } from './settings-process.ts';

interface CheckOptions {
  readonly catalogue: readonly CatalogueEntry[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** As in LocalOptions. */
  readonly build: string | undefined;
  readonly report: (line: string) => void;
}

interface CheckedSettings {
  readonly settings: LocalSettings;
  readonly replicas: ReadonlyMap<string, number>;
  /** The variables that hold the keys of models. */
  readonly modelKeys: readonly string[];
}

/** Reads the settings of the supervisor and of every process before any of them starts, and names each fault once. */
export async function checkSettings({ catalogue, env, build = ownBuild, report }: CheckOptions): Promise<CheckedSettings> {
  const names = catalogue.map(({ name }) => name);
  const faults = new Set<string>();
  const collect = async <T>(work: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (cause) {
      if (!ConfigurationError.is(cause)) throw cause;
      for (const fault of cause.faults) faults.add(fault);
      return undefined;
    }
  };
  const settings = await collect(() => readLocalSettings(env, repositoryRoot));
  await collect(() => checkServiceSecret(env));
  const replicas = await collect(() => parseReplicas(env['REPLICAS'], names));
  const models = await collect(() => readModels(env['MODELS_FILE'], catalogue));
  for (const fault of await faultsOf(catalogue.flatMap(checkedProcess(env, build)), env)) faults.add(fault);
  if (settings === undefined || replicas === undefined || faults.size > 0) throw settingsError([...faults]);
  const modelKeys = models === undefined ? [] : keyVariablesOf(models);
  for (const name of modelKeys.filter((name) => !env[name]))
    report(`${name} is named by MODELS_FILE and not set: calls to its provider have no key. Set it, or remove api_key_env there.`);
  return { settings, replicas, modelKeys };
}

const settingsError = (faults: readonly string[]) =>
  new OperatorFault(
    [
      `Nothing was started: ${faults.length === 1 ? 'a setting is' : `${faults.length} settings are`} wrong.`,
      ...faults.map((fault) => `  ${fault}`),
      'Correct what is named, or leave the setting out: every setting has a default (docs/reference/settings.md).',
    ].join('\n'),
  );

/** Only where a process reads it. */
async function readModels(file: string | undefined, catalogue: readonly CatalogueEntry[]) {
  if (!file || !catalogue.some(({ settings }) => settings.includes('MODELS_FILE'))) return undefined;
  return await readModelsFile(resolve(repositoryRoot, file));
}

/** Entries with a file outside of the services, as in tests, have no schema. */
const checkedProcess =
  (operator: Readonly<NodeJS.ProcessEnv>, build: string | undefined) =>
  (entry: CatalogueEntry): CheckedProcess[] => {
    if (!entry.entry.startsWith('services/')) return [];
    const source = resolve(repositoryRoot, entry.entry.replace('main.ts', 'config.ts'));
    // The environment that the process will get, with placeholders for what the supervisor makes.
    const env = childEnvironment({
      instance: { entry, name: entry.name, host: '127.0.0.1', port: 1, opsPort: 1 },
      instances: [],
      operator,
      modelKeys: [],
      secrets: placeholderSecrets(operator),
      publicHost: '127.0.0.1',
      databaseUrl: entry.database ? 'postgres://localhost/placeholder' : undefined,
      databaseOwnerUrl: undefined,
      redisUrl: 'redis://localhost:1',
      compileCache: '',
    });
    return [{ file: build === undefined ? source : join(build, `${entry.name}-config.js`), env }];
  };

const program = fileURLToPath(new URL('./settings-process.ts', import.meta.url));
const checkLimitMs = 60_000;

/** Runs the schemas of the processes. */
async function faultsOf(processes: readonly CheckedProcess[], operator: Readonly<NodeJS.ProcessEnv>): Promise<readonly string[]> {
  if (processes.length === 0) return [];
  const options = { cwd: repositoryRoot, env: { PATH: operator['PATH'] }, timeout: checkLimitMs, maxBuffer: 1_048_576 };
  const running = promisify(execFile)(process.execPath, [program], options);
  // A process that ends before it has read everything reports why.
  running.child.stdin?.on('error', () => undefined).end(JSON.stringify(processes));
  return JSON.parse((await running).stdout) as readonly string[];
}
