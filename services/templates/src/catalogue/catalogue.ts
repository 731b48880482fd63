import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '@agent-service/runtime';
import { sortTemplates } from '../domain/listing.ts';
import type { Template } from '../domain/template.ts';
import { type TemplateFile, templateFile, toTemplate } from './template-file.ts';

export interface Catalogue {
  /** By category, then name. */
  readonly all: readonly Template[];
  find(id: string): Template | undefined;
}

/** The folder of the templates that come with the service. */
export const builtInFolder = fileURLToPath(new URL('../../catalogue', import.meta.url));

/** Loads the service's own templates and the operator's. One error reports the faults of all files. */
export async function loadCatalogue(operatorFolder?: string): Promise<Catalogue> {
  const builtIn = await readTemplateFolder(builtInFolder);
  const operator = operatorFolder === undefined ? [] : await readOperatorFolder(operatorFolder);
  const files = [...builtIn, ...operator];
  const faults = [...files.flatMap(faultsOf), ...duplicateIds(files)];
  if (faults.length > 0) throw invalidTemplates(faults);
  const all = sortTemplates(files.flatMap((file) => ('template' in file ? [toTemplate(file.template)] : [])));
  const byId = new Map(all.map((template) => [template.id, template]));
  return { all, find: (id) => byId.get(id) };
}

/** A file of a catalogue with its template or its faults. */
type CatalogueFile =
  | { readonly path: string; readonly template: TemplateFile }
  | { readonly path: string; readonly faults: readonly string[] };

/** Reads every `.json` file below the folder. Skips names that begin with a dot: mounted volumes have some. */
export async function readTemplateFolder(folder: string): Promise<CatalogueFile[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  const files = await Promise.all(names.map((name) => readEntry(join(folder, name))));
  return files.flat();
}

async function readEntry(path: string): Promise<CatalogueFile[]> {
  // Follows links, because mounted files are links.
  if ((await stat(path)).isDirectory()) return await readTemplateFolder(path);
  return path.endsWith('.json') ? [parseTemplate(path, await readFile(path, 'utf8'))] : [];
}

function parseTemplate(path: string, text: string): CatalogueFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    return { path, faults: [cause instanceof Error ? cause.message : String(cause)] };
  }
  const { success, data, error } = templateFile.safeParse(content);
  if (success) return { path, template: data };
  return { path, faults: error.issues.map((issue) => `${issue.path.join('.') || '(file)'}: ${issue.message}`) };
}

async function readOperatorFolder(folder: string): Promise<CatalogueFile[]> {
  try {
    return await readTemplateFolder(folder);
  } catch (cause) {
    throw invalidTemplates([`${folder} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}

const faultsOf = (file: CatalogueFile): string[] => ('faults' in file ? file.faults.map((fault) => `${file.path}: ${fault}`) : []);

/** Agents are found by the id of their template, so an id may occur once. */
function duplicateIds(files: readonly CatalogueFile[]): string[] {
  const first = new Map<string, string>();
  return files.flatMap((file) => {
    if (!('template' in file)) return [];
    const { id } = file.template;
    const other = first.get(id);
    if (other === undefined) first.set(id, file.path);
    return other === undefined ? [] : [`${file.path}: id: ${id} is the id of ${other} as well`];
  });
}

const invalidTemplates = (faults: readonly string[]) =>
  new ConfigurationError(
    `These settings need attention:\n  TEMPLATES_DIR: these templates are not valid:${faults.map((fault) => `\n    ${fault}`).join('')}`,
  );
