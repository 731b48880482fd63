import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, globSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorFault } from '@agent-service/runtime/failures';
import type { z } from 'zod';

/** Replaces a file at once: a reader sees the old content or the new, never a part; also after the machine lost its power. */
export function writeFileAtomically(path: string, content: string, mode = 0o600): void {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const file = openSync(draft, 'w', mode);
    try {
      writeFileSync(file, content);
      // A file system may put the new name on the disk before the content.
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (cause) {
    rmSync(draft, { force: true });
    throw cause;
  }
}

/** Removes the drafts of processes that died before they could rename them. */
export function removeDrafts(folder: string, isRunning: (pid: number) => boolean): void {
  for (const name of globSync('*.json*', { cwd: folder })) {
    const pid = /\.json(?:\.new\.\d+)?\.(\d+)\.[0-9a-f]{8}$|\.json\.new\.(\d+)$/.exec(name)?.slice(1).find(Boolean);
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

export function writeJson(path: string, value: unknown, mode = 0o600): void {
  writeFileAtomically(path, `${JSON.stringify(value, null, 2)}\n`, mode);
}

/** The content of a file; undefined if there is none. A damaged file is an error that says what to do. */
export function readJson<Schema extends z.ZodType>(path: string, schema: Schema, remedy: string): z.output<Schema> | undefined {
  const content = readIfPresent(path);
  if (content === undefined) return undefined;
  const read = schema.safeParse(parseJson(content));
  if (!read.success) throw new OperatorFault(`${path} is empty, cut off or not what was written there. ${remedy}`, { cause: read.error });
  return read.data;
}

/** The same for a file that can be created again: a damaged one counts as none. */
export function readJsonIfWhole<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | undefined {
  return schema.safeParse(parseJson(readIfPresent(path) ?? '')).data;
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    // The parser's own message quotes the content, which may hold secrets; undefined passes no schema.
    return undefined;
  }
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
