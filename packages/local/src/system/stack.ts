import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorFault } from '@agent-service/runtime/failures';
import { writeJson } from '../host/files.ts';
import { type ManagedProcess, manage } from '../processes/managed.ts';
import { type Ownership, takeFolder } from '../processes/ownership.ts';
import type { ProcessSpec } from '../processes/spec.ts';

/** The processes of a system in the layers in which they were started; they are stopped in reverse. */
export interface Stack {
  readonly processes: ReadonlyMap<string, ManagedProcess>;
  /** Starts a process that belongs to a later layer: it loads its code while the layers before it start. */
  prepare(spec: ProcessSpec): ManagedProcess;
  /** Keeps a prepared process running as a part of the layer under way, and resolves when it is ready. */
  start(process: ManagedProcess): Promise<void>;
  /** Prepares and starts a process. */
  run(spec: ProcessSpec): Promise<ManagedProcess>;
  /** Waits for one layer, says how long it took, and begins the next. */
  together<T extends unknown[]>(what: string, work: readonly [...{ [K in keyof T]: Promise<T[K]> }]): Promise<T>;
  stop(): Promise<void>;
}

interface StackOptions {
  readonly dataDir: string;
  readonly registry: Registry;
  readonly report: (line: string) => void;
}

export function createStack({ dataDir, registry, report }: StackOptions): Stack {
  const logFolder = join(dataDir, 'logs');
  mkdirSync(logFolder, { recursive: true, mode: 0o700 });
  const supervision = { logFolder, report, began: registry.began.bind(registry), ended: registry.ended.bind(registry) };
  const processes = new Map<string, ManagedProcess>();
  const layers: ManagedProcess[][] = [[]];
  const prepared = new Set<ManagedProcess>();
  let underWay: Promise<unknown> = Promise.resolve();
  let stopping: Promise<void> | undefined;

  const prepare = (spec: ProcessSpec) => {
    if (stopping !== undefined) throw new OperatorFault('the system is being stopped');
    const process = manage(spec, supervision);
    processes.set(spec.name, process);
    prepared.add(process);
    process.begin();
    return process;
  };

  const start = async (process: ManagedProcess) => {
    if (stopping !== undefined) throw new OperatorFault('the system is being stopped');
    prepared.delete(process);
    layers.at(-1)?.push(process);
    await process.start();
  };

  const stopAll = async () => {
    await Promise.all([...prepared].map((process) => process.stop()));
    for (const layer of layers.toReversed()) await Promise.all(layer.map((process) => process.stop()));
    // A layer that is being prepared ends here with an error, before DATA_DIR is released.
    await underWay;
    registry.release();
  };

  return {
    processes,
    prepare,
    start,
    run: async (spec) => {
      const process = prepare(spec);
      await start(process);
      return process;
    },
    together: async <T extends unknown[]>(what: string, work: readonly [...{ [K in keyof T]: Promise<T[K]> }]) => {
      const began = performance.now();
      underWay = Promise.allSettled(work);
      const results = (await Promise.all(work)) as T;
      if (stopping !== undefined) throw new OperatorFault('the system is being stopped');
      layers.push([]);
      if (work.length > 0) report(`${what}: ready in ${((performance.now() - began) / 1000).toFixed(1)} s`);
      return results;
    },
    stop: () => (stopping ??= stopAll()),
  };
}

/** The files in DATA_DIR that describe the running system; they are removed when it has stopped. */
interface Registry {
  began(spec: ProcessSpec, pid: number): void;
  ended(spec: ProcessSpec): void;
  publishEndpoints(endpoints: Readonly<Record<string, string>>): void;
  release(): void;
}

/** Takes DATA_DIR for this process: one system at a time; the processes of a dead supervisor are stopped first. */
export async function openRegistry(dataDir: string): Promise<Registry> {
  // As root, PostgreSQL runs as another user and must get through to its cluster; everything else in here is closed to it.
  mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  const ownership = await takeFolder(dataDir);
  return new FolderRegistry(dataDir, ownership);
}

class FolderRegistry implements Registry {
  readonly #dataDir: string;
  readonly #ownership: Ownership;
  readonly #pids = new Map<string, number>();

  constructor(dataDir: string, ownership: Ownership) {
    this.#dataDir = dataDir;
    this.#ownership = ownership;
    this.#save();
  }

  began(spec: ProcessSpec, pid: number): void {
    this.#ownership.add(spec.name, pid, spec.stopSignal);
    this.#pids.set(spec.name, pid);
    this.#save();
  }

  ended(spec: ProcessSpec): void {
    this.#pids.delete(spec.name);
    try {
      this.#save();
    } finally {
      this.#ownership.remove(spec.name);
    }
  }

  publishEndpoints(endpoints: Readonly<Record<string, string>>): void {
    writeJson(join(this.#dataDir, 'endpoints.json'), endpoints);
  }

  release(): void {
    for (const file of ['processes.json', 'endpoints.json']) rmSync(join(this.#dataDir, file), { force: true });
    this.#ownership.release();
  }

  #save(): void {
    writeJson(join(this.#dataDir, 'processes.json'), Object.fromEntries(this.#pids), 0o644);
  }
}
