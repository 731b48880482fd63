import { rmSync } from 'node:fs';
import { writeJson } from '../files.ts';
import { stopLeftovers } from './leftovers.ts';
import { type Notes, notesFile, readNotes } from './notes.ts';
import { isAlive, markOf, type ProcessMark } from './start-time.ts';
import { takeFile } from './succession.ts';

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
