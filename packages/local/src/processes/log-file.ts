import { renameSync, statSync } from 'node:fs';
import { isMissing, readIfPresent } from '../files.ts';

const rotateAtBytes = 16 * 1024 * 1024;
const shownLines = 15;

/** The end of a log, indented, as it is shown when its process died. */
export function lastLines(path: string, count = shownLines): string {
  const lines = (readIfPresent(path) ?? '').trimEnd().split('\n').slice(-count);
  return lines.map((line) => `    ${line}`).join('\n');
}

/** Puts a log that has grown large aside, so that two files a process are the most there ever is. */
export function rotate(path: string): void {
  try {
    if (statSync(path).size > rotateAtBytes) renameSync(path, `${path}.1`);
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
  }
}
