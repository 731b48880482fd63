import { globSync, linkSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCode, writeFileAtomically, writeJson } from '../files.ts';
import { LocalError } from '../local-error.ts';
import { type Notes, notesFile, readNotes } from './notes.ts';
import { isAlive, type ProcessMark } from './start-time.ts';

/**
 * Makes the file this process's own, or refuses because a live process has it. Answers with what a dead owner left running,
 * which stays noted in the file.
 *
 * To look whether the owner is dead and to replace it are two steps, and between them another start may have done both. So
 * whoever replaces an owner first claims its succession, in a file that is named after that one owner and has one maker: as
 * long as the claim is held and the notes are still that owner's, nobody else replaces them.
 */
export function takeFile(file: string, self: ProcessMark): Notes['processes'] {
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
