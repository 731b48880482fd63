import { existsSync, globSync, linkSync, realpathSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { OperatorFault } from '@agent-service/runtime/failures';
import { z } from 'zod';
import { errorCode, readJson, removeDrafts, writeFileAtomically, writeJson } from '../host/files.ts';
import { until } from '../host/waiting.ts';
import { isAlive, markOf, type ProcessMark, signalGroup, startTimeOf } from './process-mark.ts';

/** A folder that belongs to this process until it is released. */
export interface Ownership {
  add(name: string, pid: number, stopSignal: NodeJS.Signals): void;
  remove(name: string): void;
  release(): void;
}

/**
 * Takes a folder for this process. Refused while another live process owns it, and in a copy of a folder that was owned; the processes of a
 * dead owner are stopped first, and the drafts of dead processes removed.
 */
export async function takeFolder(folder: string): Promise<Ownership> {
  const file = ownerFilePath(folder);
  const self = markOf(process.pid) as ProcessMark;
  await stopLeftProcesses(Object.values(takeOwnerFile(file, self)));
  removeDrafts(folder, (pid) => startTimeOf(pid) !== undefined);
  let processes: OwnerFile['processes'] = {};
  const save = () => writeJson(file, { folder: realpathSync(folder), supervisor: self, processes } satisfies OwnerFile);
  save();
  return {
    add: (name, pid, stopSignal) => {
      const mark = markOf(pid);
      if (mark) processes = { ...processes, [name]: { ...mark, stopSignal } };
      save();
    },
    remove: (name) => {
      processes = Object.fromEntries(Object.entries(processes).filter(([known]) => known !== name));
      save();
    },
    release: () => rmSync(file, { force: true }),
  };
}

/** The live process that owns the folder, if there is one. */
export function ownerOf(folder: string): ProcessMark | undefined {
  const content = readOwnerFile(ownerFilePath(folder));
  return content && isAlive(content.supervisor) ? content.supervisor : undefined;
}

/** Stops the processes of the folder's dead owner. */
export async function stopLeftIn(folder: string): Promise<void> {
  await stopLeftProcesses(Object.values(readOwnerFile(ownerFilePath(folder))?.processes ?? {}));
}

/**
 * Writes this process into the owner file, or refuses because a live process is in it. Returns the processes of a dead owner, which
 * stay listed in the file.
 *
 * Another start may replace a dead owner between our check and our write. So a start first creates a claim, a file named after the dead
 * owner, which only one process can create. While it exists and the owner file still names that owner, no other start replaces it.
 */
function takeOwnerFile(file: string, self: ProcessMark): OwnerFile['processes'] {
  const folder = realpathSync(dirname(file));
  for (;;) {
    if (createOnce(file, { folder, supervisor: self, processes: {} })) return {};
    const owner = readOwnerFile(file);
    // The owner released it between the two calls.
    if (!owner) continue;
    refuseCopyOfRunning(file, owner);
    refuseLiveOwner(file, owner.supervisor);
    const claim = claimOwnership(file, owner.supervisor, self);
    if (claim === undefined) continue;
    if (isSame(readOwnerFile(file)?.supervisor, owner.supervisor)) {
      writeJson(file, { folder, supervisor: self, processes: owner.processes } satisfies OwnerFile);
      // Claims on earlier owners are void now.
      for (const old of globSync(`${basename(file)}.after-*`, { cwd: dirname(file) })) rmSync(join(dirname(file), old), { force: true });
      return owner.processes;
    }
    rmSync(claim, { force: true });
  }
}

/** The processes that a copied file names are those of the original, and its database was copied while it changed. */
function refuseCopyOfRunning(file: string, { folder: original }: OwnerFile): void {
  const folder = dirname(file);
  // A folder that was moved is no longer where it was.
  if (original === undefined || original === realpathSync(folder) || !existsSync(original)) return;
  throw new OperatorFault(
    `${folder} is a copy of ${original} that was made while a system ran on it, and a database in it may be damaged. Stop that system and copy the folder again, or remove ${file} to use the copy as it is.`,
  );
}

function refuseLiveOwner(file: string, owner: ProcessMark): void {
  if (!isAlive(owner)) return;
  const folder = dirname(file);
  throw new OperatorFault(
    `A system already runs on ${folder} (pid ${owner.pid}). Stop it first (Ctrl-C in its terminal, or: kill ${owner.pid}), or set DATA_DIR to another folder.`,
  );
}

/** The claim's file; undefined if the caller has to start over. The claim of a process that died is replaced in the same way. */
function claimOwnership(file: string, dead: ProcessMark, self: ProcessMark): string | undefined {
  const claim = `${file}.after-${dead.pid}-${encodeURIComponent(dead.startTime)}`;
  if (createOnce(claim, { supervisor: self, processes: {} })) return claim;
  const claimant = readOwnerFile(claim)?.supervisor;
  if (!claimant) return undefined;
  refuseLiveOwner(file, claimant);
  return claimOwnership(file, claimant, self);
}

const isSame = (one: ProcessMark | undefined, other: ProcessMark) => one?.pid === other.pid && one.startTime === other.startTime;

/** Creates the file complete and only if there is none: of two that start at once, one wins. */
function createOnce(file: string, content: OwnerFile): boolean {
  // Its name differs from a claim's, so that the winner does not remove it before its writer links it.
  const draft = `${ownerFilePath(dirname(file))}.new.${process.pid}`;
  writeFileAtomically(draft, JSON.stringify(content));
  try {
    linkSync(draft, file);
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'EEXIST') return false;
    throw cause;
  } finally {
    rmSync(draft, { force: true });
  }
}

const mark = z.object({ pid: z.int(), startTime: z.string() });
const signals = Object.keys(constants.signals) as [NodeJS.Signals, ...NodeJS.Signals[]];

const schema = z.object({
  /** Absent in a file of an earlier release, and in claims. */
  folder: z.string().optional(),
  supervisor: mark,
  processes: z.record(z.string(), mark.extend({ stopSignal: z.enum(signals) })),
});

/** The content of the owner file: a supervisor and its processes, for the start after its sudden death. */
type OwnerFile = Readonly<z.output<typeof schema>>;

const ownerFilePath = (folder: string) => join(folder, 'supervisor.json');

const remedy = 'Make sure that no process of an earlier start still runs, remove this file, and try again.';

function readOwnerFile(file: string): OwnerFile | undefined {
  return readJson(file, schema, remedy);
}

interface LeftProcess extends ProcessMark {
  readonly stopSignal: NodeJS.Signals;
}

const stopLimitMs = 10_000;

/** Stops processes of a dead supervisor, the last started first. A later process under the same pid keeps running. */
async function stopLeftProcesses(leftProcesses: readonly LeftProcess[]): Promise<void> {
  for (const leftProcess of leftProcesses.toReversed()) await stopLeftProcess(leftProcess);
}

async function stopLeftProcess(leftProcess: LeftProcess): Promise<void> {
  if (!isAlive(leftProcess)) return;
  signalGroup(leftProcess.pid, leftProcess.stopSignal, 'leader');
  if (await until(() => !isAlive(leftProcess), stopLimitMs)) return;
  signalGroup(leftProcess.pid, 'SIGKILL', 'group');
  await until(() => !isAlive(leftProcess), stopLimitMs);
}
