import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TemplateFile, templateFile } from './template-file.ts';

/** One file of a catalogue, read or refused. */
export type ReadFile =
  | { readonly path: string; readonly template: TemplateFile }
  | { readonly path: string; readonly faults: readonly string[] };

/** Every `.json` file in the folder and the folders in it. Names that begin with a dot are somebody's own, as in mounted volumes. */
export async function readFolder(folder: string): Promise<ReadFile[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  const found = await Promise.all(names.map((name) => readEntry(join(folder, name))));
  return found.flat();
}

async function readEntry(path: string): Promise<ReadFile[]> {
  // What a link leads to counts: mounted files are links.
  if ((await stat(path)).isDirectory()) return await readFolder(path);
  return path.endsWith('.json') ? [parse(path, await readFile(path, 'utf8'))] : [];
}

function parse(path: string, text: string): ReadFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    return { path, faults: [cause instanceof Error ? cause.message : String(cause)] };
  }
  const given = templateFile.safeParse(content);
  if (given.success) return { path, template: given.data };
  return { path, faults: given.error.issues.map(({ path: place, message }) => `${place.join('.') || '(file)'}: ${message}`) };
}
