import { closeSync, fstatSync, openSync, readSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { isMissing } from '../host/files.ts';

const shownBytes = 16 * 1024;
const shownLines = 15;

/** The end of a log, indented, for the report of a process's death. */
export function lastLines(path: string, count = shownLines): string {
  const lines = (readEnd(path, shownBytes)?.toString() ?? '').trimEnd().split('\n').slice(-count);
  return lines.map((line) => `    ${line}`).join('\n');
}

/**
 * Moves the content of a log that has grown large to `PATH.1` and empties it. Its process goes on writing to the same open file, which
 * appends; lines written between the two steps are lost.
 */
export function rotateLog(path: string, limitBytes: number): void {
  const end = readEnd(path, limitBytes, limitBytes);
  if (!end) return;
  rmSync(`${path}.1`, { force: true });
  try {
    writeFileSync(`${path}.1`, end, { mode: 0o600 });
  } finally {
    // Also on a full disk, which the log may have filled.
    truncateSync(path);
  }
}

/** The last bytes of a file that is larger than `above`. */
function readEnd(path: string, bytes: number, above = 0): Buffer | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size <= above) return undefined;
      const content = Buffer.alloc(Math.min(size, bytes));
      return content.subarray(0, readSync(file, content, 0, content.length, size - content.length));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}
