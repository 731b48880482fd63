import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Replaces a file at once: a reader sees the old content or the new, never a part. */
export function writeFileAtomically(path: string, content: string, mode = 0o600): void {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, content, { mode });
  renameSync(draft, path);
}

export function writeJson(path: string, value: unknown, mode = 0o600): void {
  writeFileAtomically(path, `${JSON.stringify(value, null, 2)}\n`, mode);
}

/** The parsed content of a file, or undefined where there is none. */
export function readJson(path: string): unknown {
  const content = readIfPresent(path);
  return content === undefined ? undefined : JSON.parse(content);
}

export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}

export function isMissing(cause: unknown): boolean {
  return errorCode(cause) === 'ENOENT';
}

export function errorCode(cause: unknown): string | undefined {
  // Not instanceof: an error of Node's own is another realm's Error inside Jest.
  return Error.isError(cause) ? (cause as NodeJS.ErrnoException).code : undefined;
}
