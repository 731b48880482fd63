import { linkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, readJson, writeFileAtomically, writeJson } from '../files.ts';
import { LocalError } from '../local-error.ts';
import { type Leftover, stopLeftovers } from './leftovers.ts';
import { isAlive, markOf, type ProcessMark } from './start-time.ts';

/** What a supervisor writes down about itself and its processes, for whoever comes after its sudden death. */
interface Notes {
  readonly supervisor: ProcessMark;
  readonly processes: Readonly<Record<string, Leftover>>;
}

/** A folder that belongs to this process until it is released. */
export interface Ownership {
  note(name: string, pid: number, stopSignal: NodeJS.Signals): void;
  forget(name: string): void;
  release(): void;
}

const fileName = 'supervisor.json';

/** Takes a folder for this process: refused while another live process has it; what a dead one left running is stopped first. */
export async function takeFolder(folder: string): Promise<Ownership> {
  const file = join(folder, fileName);
  const self = markOf(process.pid) as ProcessMark;
  let processes: Record<string, Leftover> = {};
  const save = () => writeJson(file, { supervisor: self, processes } satisfies Notes);
  if (!createOnce(file, { supervisor: self, processes })) {
    refuseIfOwned(folder);
    await stopLeftIn(folder);
    save();
  }
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
  const notes = readNotes(folder);
  return notes && isAlive(notes.supervisor) ? notes.supervisor : undefined;
}

export function refuseIfOwned(folder: string): void {
  const owner = ownerOf(folder);
  if (owner)
    throw new LocalError(
      `A system already runs on ${folder} (pid ${owner.pid}). Stop it first (Ctrl-C in its terminal, or: kill ${owner.pid}), or set DATA_DIR to another folder.`,
    );
}

/** Stops what the folder's dead owner left running. */
export async function stopLeftIn(folder: string): Promise<void> {
  await stopLeftovers(Object.values(readNotes(folder)?.processes ?? {}));
}

function readNotes(folder: string): Notes | undefined {
  return readJson(join(folder, fileName)) as Notes | undefined;
}

/** Creates the file complete and only if there is none: of two that start at once, one wins. */
function createOnce(file: string, notes: Notes): boolean {
  const draft = `${file}.${process.pid}.new`;
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
