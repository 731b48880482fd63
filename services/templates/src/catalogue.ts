import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isScope } from '@agent-service/contracts';
import { parseTableScope } from '@agent-service/contracts/agents/data-scope';
import { definitionFromBody } from '@agent-service/contracts/agents/definition';
import { agentFields, maxPrompts } from '@agent-service/contracts/agents/fields';
import { newAgentShape } from '@agent-service/contracts/agents/schemas';
import { ConfigurationError } from '@agent-service/runtime';
import { reasonOf } from '@agent-service/runtime/failures';
import { z } from 'zod';
import { categories, sortTemplates, type Template, type TemplateChange } from './domain/template.ts';

export interface Catalogue {
  /** By category, then name. */
  readonly all: readonly Template[];
  find(id: string): Template | undefined;
}

/** The folder of the templates that come with the service. */
export const builtInFolder = fileURLToPath(new URL('../catalogue', import.meta.url));

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
    return { path, faults: [reasonOf(cause)] };
  }
  const { success, data, error } = templateFile.safeParse(content);
  if (success) return { path, template: data };
  return { path, faults: error.issues.map((issue) => `${issue.path.join('.') || '(file)'}: ${issue.message}`) };
}

async function readOperatorFolder(folder: string): Promise<CatalogueFile[]> {
  try {
    return await readTemplateFolder(folder);
  } catch (cause) {
    throw invalidTemplates([`${folder} cannot be read: ${reasonOf(cause)}`]);
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
  new ConfigurationError([`TEMPLATES_DIR: these templates are not valid:${faults.map((fault) => `\n    ${fault}`).join('')}`]);

/** Three numbers with dots between them. */
export const versionPattern = /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/;

export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at >= 0 && (a[at] as number) > (b[at] ?? 0);
}

const { name, description, model, system_prompt, tables, welcome_message } = agentFields;
const maxRequiredTables = 200;

/** Text that is not blank and that a database can store. Its limit is that of the agents. */
const filled = (schema: z.ZodString): z.ZodString =>
  schema
    .refine((value) => value.trim() !== '', 'must not be blank')
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must not hold NUL or lone surrogates');
const longText = filled(system_prompt.input);
const shortText = filled(description.input);

const plainTable = z
  .string()
  .refine((value) => parseTableScope(value)?.columns === null, 'must be the name of a table, as orders or sales.orders');

/** A prompt for the demonstration data has a statement, which tests compare the answer with. */
const prompt = z.union([
  shortText.transform((value) => ({ prompt: value, sql: undefined })),
  z.strictObject({ prompt: shortText, sql: z.string().min(1).optional() }),
]);

const change = z.strictObject({
  version: z.string().regex(versionPattern, 'must be three numbers, as 1.0.0'),
  date: z.iso.date('must be a day, as 2026-01-31'),
  changes: shortText,
});

/**
 * The content of a template's file: the fields of an agent, some under stricter rules, and those of the template. Unknown fields are
 * refused, so that a misspelt name does not become a default.
 */
const templateFile = z
  .strictObject({
    ...newAgentShape,
    id: z.string().regex(/^tpl_[a-z0-9_]{1,60}$/, 'must be tpl_ and small letters, digits and _'),
    name: filled(name.input),
    category: z.enum(categories),
    description: shortText,
    long_description: longText,
    version: z.string(),
    model: model.input.default(model.default),
    system_prompt: longText,
    welcome_message: filled(welcome_message.input),
    suggested_prompts: z.array(prompt).min(1).max(maxPrompts),
    data_scope: z.strictObject({ ...newAgentShape.data_scope.shape, tables: tables.input }),
    required_tables: z.array(plainTable).max(maxRequiredTables),
    required_permissions: z.array(z.string().refine(isScope, 'is not a scope')).default([]),
    changelog: z.array(change).min(1),
  })
  .superRefine(({ version, changelog, required_tables: required, data_scope: scope }, context) => {
    if (changelog[0]?.version !== version)
      context.addIssue({ code: 'custom', path: ['version'], message: 'must be the newest of changelog' });
    if (!isNewestFirst(changelog))
      context.addIssue({ code: 'custom', path: ['changelog'], message: 'must go from the newest to the oldest' });
    for (const [index, table] of scope.tables.entries())
      if (!required.some((name) => isSameTable(name, table)))
        context.addIssue({ code: 'custom', path: ['data_scope', 'tables', index], message: 'must be one of required_tables' });
  });

const isNewestFirst = (changelog: readonly TemplateChange[]): boolean =>
  changelog.every((entry, index) => {
    const newer = changelog[index - 1];
    return newer === undefined || (isNewer(newer.version, entry.version) && newer.date >= entry.date);
  });

function isSameTable(one: string, other: string): boolean {
  const [a, b] = [parseTableScope(one), parseTableScope(other)];
  return a?.table === b?.table && a?.schema === b?.schema;
}

type TemplateFile = z.output<typeof templateFile>;

/** The definition of the template's agents is the file without what describes the template itself. */
const toTemplate = (file: TemplateFile): Template => ({
  ...definitionFromBody({ ...file, suggested_prompts: file.suggested_prompts.map((one) => one.prompt) }),
  id: file.id,
  category: file.category,
  longDescription: file.long_description,
  version: file.version,
  requiredTables: file.required_tables,
  requiredPermissions: file.required_permissions,
  changelog: file.changelog,
});
