import { isScope } from '@agent-service/contracts';
import { parseTableScope } from '@agent-service/contracts/data-scope';
import { z } from 'zod';
import { categories, type Template, type TemplateChange, tiers } from '../domain/template.ts';

/** Three numbers with dots between them. */
export const versionPattern = /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/;

export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at >= 0 && (a[at] as number) > (b[at] ?? 0);
}

const longestText = 2_000;
const longestPrompt = 32_000;
const mostPrompts = 5;
const mostTables = 200;

/** Text that is not blank, with at most so many code points, that PostgreSQL can store. */
const text = (longest: number) =>
  z
    .string()
    .refine((value) => value.trim() !== '' && [...value].length <= longest, `must have 1 to ${longest} characters`)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must not hold NUL or lone surrogates');

const tableScope = z.string().refine((value) => parseTableScope(value) !== undefined, 'must be a table, as orders or orders(id, total)');
const plainTable = z
  .string()
  .refine((value) => parseTableScope(value)?.columns === null, 'must be the name of a table, as orders or sales.orders');

/** A prompt for the demonstration data has a statement, which tests compare the answer with. */
const prompt = z.union([
  text(longestText).transform((value) => ({ prompt: value, sql: undefined })),
  z.strictObject({ prompt: text(longestText), sql: z.string().min(1).optional() }),
]);

const change = z.strictObject({
  version: z.string().regex(versionPattern, 'must be three numbers, as 1.0.0'),
  date: z.iso.date('must be a day, as 2026-01-31'),
  changes: text(longestText),
});

/** The content of a template's file. Unknown fields are refused, so that a misspelt name does not become a default. */
export const templateFile = z
  .strictObject({
    id: z.string().regex(/^tpl_[a-z0-9_]{1,60}$/, 'must be tpl_ and small letters, digits and _'),
    name: text(100),
    category: z.enum(categories),
    description: text(longestText),
    long_description: text(longestPrompt),
    version: z.string(),
    model: z.enum(tiers).default('Fast'),
    system_prompt: text(longestPrompt),
    welcome_message: text(longestText),
    suggested_prompts: z.array(prompt).min(1).max(mostPrompts),
    data_scope: z.strictObject({ tables: z.array(tableScope).max(mostTables), read_only: z.boolean().default(true) }),
    output_preferences: z
      .strictObject({
        default_format: z.enum(['markdown', 'table', 'text', 'json']).default('markdown'),
        chart_enabled: z.boolean().default(false),
      })
      .prefault({}),
    required_tables: z.array(plainTable).max(mostTables),
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

export type TemplateFile = z.output<typeof templateFile>;

export const toTemplate = (file: TemplateFile): Template => ({
  id: file.id,
  name: file.name,
  category: file.category,
  description: file.description,
  longDescription: file.long_description,
  version: file.version,
  model: file.model,
  systemPrompt: file.system_prompt,
  welcomeMessage: file.welcome_message,
  suggestedPrompts: file.suggested_prompts.map(({ prompt: text }) => text),
  tables: file.data_scope.tables,
  readOnly: file.data_scope.read_only,
  defaultFormat: file.output_preferences.default_format,
  chartEnabled: file.output_preferences.chart_enabled,
  requiredTables: file.required_tables,
  requiredPermissions: file.required_permissions,
  changelog: file.changelog,
});
