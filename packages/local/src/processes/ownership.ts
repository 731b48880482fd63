import { globSync, linkSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { errorCode, readJson, writeFileAtomically, writeJson } from '../host/files.ts';
import { LocalError } from '../host/local-error.ts';
import { until } from '../host/waiting.ts';
import { isAlive, markOf, type ProcessMark, signalGroup } from './process-mark.ts';

/** A folder that belongs to this process until it is released. */
export interface Ownership {
  note(name: string, pid: number, stopSignal: NodeJS.Signals): void;
  forget(name: string): void;
  release(): void;
}

/** Takes a folder for this process: refused while another live process has it; what a dead one left running is stopped first. */
export async function takeFolder(folder: string): Promise<Ownership> {
  const file = notesFile(folder);
  const self = markOf(process.pid) as ProcessMark;
  await stopLeftovers(Object.values(takeFile(file, self)));
  let processes: Notes['processes'] = {};
  const save = () => writeJson(file, { supervisor: self, processes } satisfies Notes);
  save();
  return {
    note: (name, pid, stopSignal) => {
      const mark = markOf(pid);
      if (mark) processes = { ...processes, [name]: { ...mark, stopSignal } };
      save();
    },
    forget: (name) => {
      processes = Object.fromEntries(Object.entries(processes).filter(([known]) => known !== name));
      save();
    },
    release: () => rmSync(file, { force: true }),
  };
}

/** The live process that owns the folder, if there is one. */
export function ownerOf(folder: string): ProcessMark | undefined {
  const notes = readNotes(notesFile(folder));
  return notes && isAlive(notes.supervisor) ? notes.supervisor : undefined;
}

/** Stops what the folder's dead owner left running. */
export async function stopLeftIn(folder: string): Promise<void> {
  await stopLeftovers(Object.values(readNotes(notesFile(folder))?.processes ?? {}));
}

/**
 * Makes the file this process's own, or refuses because a live process has it. Answers with what a dead owner left running,
 * which stays noted in the file.
 *
 * To look whether the owner is dead and to replace it are two steps, and between them another start may have done both. So
 * whoever replaces an owner first claims its succession, in a file that is named after that one owner and has one maker: as
 * long as the claim is held and the notes are still that owner's, nobody else replaces them.
 */
function takeFile(file: string, self: ProcessMark): Notes['processes'] {
  for (;;) {
    if (createOnce(file, { supervisor: self, processes: {} })) return {};
    const owner = readNotes(file);
    // Given back a moment ago.
    if (!owner) continue;
    refuseIfAlive(file, owner.supervisor);
    const claim = claimSuccession(file, owner.supervisor, self);
    if (claim === undefined) continue;
    if (isSame(readNotes(file)?.supervisor, owner.supervisor)) {
      writeJson(file, { supervisor: self, processes: owner.processes } satisfies Notes);
      // Claims to those before this process can win nothing any more.
      for (const old of globSync(`${basename(file)}.after-*`, { cwd: dirname(file) })) rmSync(join(dirname(file), old), { force: true });
      return owner.processes;
    }
    rmSync(claim, { force: true });
  }
}

function refuseIfAlive(file: string, owner: ProcessMark): void {
  if (!isAlive(owner)) return;
  const folder = dirname(file);
  throw new LocalError(
    `A system already runs on ${folder} (pid ${owner.pid}). Stop it first (Ctrl-C in its terminal, or: kill ${owner.pid}), or set DATA_DIR to another folder.`,
  );
}

/** The claim's file; undefined where all has to be looked at again. Who died as it claimed is itself succeeded. */
function claimSuccession(file: string, dead: ProcessMark, self: ProcessMark): string | undefined {
  const claim = `${file}.after-${dead.pid}-${encodeURIComponent(dead.startTime)}`;
  if (createOnce(claim, { supervisor: self, processes: {} })) return claim;
  const heir = readNotes(claim)?.supervisor;
  if (!heir) return undefined;
  refuseIfAlive(file, heir);
  return claimSuccession(file, heir, self);
}

const isSame = (one: ProcessMark | undefined, other: ProcessMark) => one?.pid === other.pid && one.startTime === other.startTime;

/** Creates the file complete and only if there is none: of two that start at once, one wins. */
function createOnce(file: string, notes: Notes): boolean {
  // Not named after the claim, or the winner would take it for one and remove it under its writer's hands.
  const draft = `${notesFile(dirname(file))}.new.${process.pid}`;
  writeFileAtomically(draft, JSON.stringify(notes));
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
  supervisor: mark,
  processes: z.record(z.string(), mark.extend({ stopSignal: z.enum(signals) })),
});

/** What a supervisor writes down about itself and its processes, for whoever comes after its sudden death. */
type Notes = Readonly<z.output<typeof schema>>;

const notesFile = (folder: string) => join(folder, 'supervisor.json');

const remedy = 'Make sure that no process of an earlier start still runs, remove this file, and try again.';

function readNotes(file: string): Notes | undefined {
  return readJson(file, schema, remedy);
}

interface Leftover extends ProcessMark {
  readonly stopSignal: NodeJS.Signals;
}

const stopLimitMs = 10_000;

/** Stops processes of a dead supervisor, the last started first. A later process under the same pid is left alone. */
async function stopLeftovers(leftovers: readonly Leftover[]): Promise<void> {
  for (const leftover of leftovers.toReversed()) await stopLeftover(leftover);
}

async function stopLeftover(leftover: Leftover): Promise<void> {
  if (!isAlive(leftover)) return;
  signalGroup(leftover.pid, leftover.stopSignal, 'leader');
  if (await until(() => !isAlive(leftover), stopLimitMs)) return;
  signalGroup(leftover.pid, 'SIGKILL', 'group');
  await until(() => !isAlive(leftover), stopLimitMs);
}
