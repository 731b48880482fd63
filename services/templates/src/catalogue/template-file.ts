import { isScope } from '@agent-service/contracts';
import { parseTableScope } from '@agent-service/contracts/data-scope';
import { z } from 'zod';
import { type Change, categories, type Template, tiers } from '../domain/template.ts';
import { isNewer, versionPattern } from '../domain/version.ts';

const longestText = 2_000;
const longestPrompt = 32_000;
const mostPrompts = 5;
const mostTables = 200;

/** Within bounds that are counted by code points, as everywhere; with a letter in it, and nothing that no database keeps. */
const text = (longest: number) =>
  z
    .string()
    .refine((value) => value.trim() !== '' && [...value].length <= longest, `must have 1 to ${longest} characters`)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must not hold NUL or lone surrogates');

const tableScope = z.string().refine((value) => parseTableScope(value) !== undefined, 'must be a table, as orders or orders(id, total)');
const plainTable = z
  .string()
  .refine((value) => parseTableScope(value)?.columns === null, 'must be the name of a table, as orders or sales.orders');

/** With the statement whose figures the prompt is about, where there are data to ask it of. */
const prompt = z.union([
  text(longestText).transform((value) => ({ prompt: value, sql: undefined })),
  z.strictObject({ prompt: text(longestText), sql: z.string().min(1).optional() }),
]);

const change = z.strictObject({
  version: z.string().regex(versionPattern, 'must be three numbers, as 1.0.0'),
  date: z.iso.date('must be a day, as 2026-01-31'),
  changes: text(longestText),
});

const file = z
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

const isNewestFirst = (changelog: readonly Change[]): boolean =>
  changelog.every((entry, index) => {
    const newer = changelog[index - 1];
    return newer === undefined || (isNewer(newer.version, entry.version) && newer.date >= entry.date);
  });

function isSameTable(one: string, other: string): boolean {
  const [a, b] = [parseTableScope(one), parseTableScope(other)];
  return a?.table === b?.table && a?.schema === b?.schema;
}

/** A template as its file holds it. Nothing unknown passes, so that no misspelt name is silently a default. */
export const templateFile = file;
export type TemplateFile = z.output<typeof file>;

export const toTemplate = (given: TemplateFile): Template => ({
  id: given.id,
  name: given.name,
  category: given.category,
  description: given.description,
  longDescription: given.long_description,
  version: given.version,
  model: given.model,
  systemPrompt: given.system_prompt,
  welcomeMessage: given.welcome_message,
  suggestedPrompts: given.suggested_prompts.map((one) => one.prompt),
  tables: given.data_scope.tables,
  readOnly: given.data_scope.read_only,
  defaultFormat: given.output_preferences.default_format,
  chartEnabled: given.output_preferences.chart_enabled,
  requiredTables: given.required_tables,
  requiredPermissions: given.required_permissions,
  changelog: given.changelog,
});
