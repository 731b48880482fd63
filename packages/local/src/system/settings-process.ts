// Reads the settings of every process in a process of its own, so that the supervisor does not keep the code of all services in memory.
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { ConfigurationError } from '@agent-service/runtime/config';

/** A process to check: the file of its schema, and the environment that it will get. */
export interface CheckedProcess {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

type Read = (env: Readonly<NodeJS.ProcessEnv>) => unknown;
/** Looks into the files that settings name, where a schema cannot. */
type CheckFiles = (env: Readonly<NodeJS.ProcessEnv>) => Promise<void>;

async function faultsOf({ file, env }: CheckedProcess): Promise<string[]> {
  const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  const named = (pattern: RegExp) => Object.entries(module).find(([name]) => pattern.test(name))?.[1];
  const read = named(/^read\w+Config$/) as Read | undefined;
  if (read === undefined) throw new Error(`${file} has no function that reads settings`);
  const checkFiles = named(/^check\w+Files$/) as CheckFiles | undefined;
  const results = await Promise.allSettled([Promise.try(read, env), checkFiles?.(env)]);
  return results.flatMap((result) => {
    if (result.status === 'fulfilled') return [];
    if (ConfigurationError.is(result.reason)) return [...result.reason.faults];
    throw result.reason;
  });
}

const processes = JSON.parse(await text(process.stdin)) as readonly CheckedProcess[];
const faults: string[] = [];
for (const one of processes) faults.push(...(await faultsOf(one)));
process.stdout.write(JSON.stringify(faults));
