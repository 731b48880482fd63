import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { removeDrafts, writeJson } from './files.ts';
import { type Ownership, takeFolder } from './processes/ownership.ts';
import type { ProcessSpec } from './processes/spec.ts';
import { startTimeOf } from './processes/start-time.ts';

/** What DATA_DIR tells about the running system; kept current, and gone when the system has stopped. */
export interface Registry {
  began(spec: ProcessSpec, pid: number): void;
  ended(spec: ProcessSpec): void;
  publishEndpoints(endpoints: Readonly<Record<string, string>>): void;
  release(): void;
}

/** Takes DATA_DIR for this process: one system at a time, and what a dead supervisor left is stopped first. */
export async function openRegistry(dataDir: string): Promise<Registry> {
  // As root, PostgreSQL runs as another user and must get through to its cluster; everything else in here is closed to it.
  mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  const ownership = await takeFolder(dataDir);
  removeDrafts(dataDir, (pid) => startTimeOf(pid) !== undefined);
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
    this.#ownership.note(spec.name, pid, spec.stopSignal);
    this.#pids.set(spec.name, pid);
    this.#save();
  }

  ended(spec: ProcessSpec): void {
    this.#pids.delete(spec.name);
    this.#save();
    this.#ownership.forget(spec.name);
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
