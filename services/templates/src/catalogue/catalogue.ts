import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '@agent-service/runtime';
import { inOrder } from '../domain/listing.ts';
import type { Template } from '../domain/template.ts';
import { type ReadFile, readFolder } from './read-folder.ts';
import { toTemplate } from './template-file.ts';

export interface Catalogue {
  /** By category, then name. */
  readonly all: readonly Template[];
  find(id: string): Template | undefined;
}

/** The templates that come with the service. */
export const ownFolder = fileURLToPath(new URL('../../catalogue', import.meta.url));

/** All templates there are. All that is wrong with their files is told at once. */
export async function loadCatalogue(operatorsFolder?: string): Promise<Catalogue> {
  const own = await readFolder(ownFolder);
  const operators = operatorsFolder === undefined ? [] : await readOperators(operatorsFolder);
  const files = [...own, ...operators];
  const faults = [...files.flatMap(faultsOf), ...sharedIds(files)];
  if (faults.length > 0) throw malformed(faults);
  const all = inOrder(files.flatMap((file) => ('template' in file ? [toTemplate(file.template)] : [])));
  const byId = new Map(all.map((template) => [template.id, template]));
  return { all, find: (id) => byId.get(id) };
}

async function readOperators(folder: string): Promise<ReadFile[]> {
  try {
    return await readFolder(folder);
  } catch (cause) {
    throw malformed([`${folder} can not be read: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}

const faultsOf = (file: ReadFile): string[] => ('faults' in file ? file.faults.map((fault) => `${file.path}: ${fault}`) : []);

/** Agents are found by their template's id, so that one id is one template. */
function sharedIds(files: readonly ReadFile[]): string[] {
  const first = new Map<string, string>();
  return files.flatMap((file) => {
    if (!('template' in file)) return [];
    const { id } = file.template;
    const other = first.get(id);
    if (other === undefined) first.set(id, file.path);
    return other === undefined ? [] : [`${file.path}: id: ${id} is the id of ${other} as well`];
  });
}

const malformed = (faults: readonly string[]) =>
  new ConfigurationError(
    `These settings need attention:\n  TEMPLATES_DIR: templates are not as they must be:${faults.map((fault) => `\n    ${fault}`).join('')}`,
  );
