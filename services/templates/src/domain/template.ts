import type { AgentDefinition } from '@agent-service/contracts/agents/fields';
import { foldCase } from '@agent-service/contracts/strings';

export const categories = ['finance', 'sales', 'inventory', 'purchasing', 'hr'] as const;
type Category = (typeof categories)[number];

export type TemplateStatus = 'available' | 'activated';

/** An entry of a template's changelog. */
export interface TemplateChange {
  readonly version: string;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly changes: string;
}

/** The definition of an agent that every organization may activate, with its description for people. */
export interface Template extends AgentDefinition {
  readonly id: string;
  readonly category: Category;
  readonly longDescription: string;
  readonly version: string;
  /** Tables that the data source must have. */
  readonly requiredTables: readonly string[];
  /** Scopes that the caller of an activation must hold. */
  readonly requiredPermissions: readonly string[];
  /** Newest first, and never empty. */
  readonly changelog: readonly TemplateChange[];
}

const toTime = (date: string | undefined) => `${date}T00:00:00.000Z`;

/** The dates of the first and of the newest version. */
export const createdAt = ({ changelog }: Template): string => toTime(changelog.at(-1)?.date);
export const updatedAt = ({ changelog }: Template): string => toTime(changelog[0]?.date);

/** Empty fields match every template. */
export interface TemplateFilter {
  readonly category: string;
  readonly status: string;
  readonly search: string;
}

/** The key that lists are sorted by; unique, because it ends with the id. */
export type SortKey = readonly [category: string, name: string, id: string];

export const sortKeyOf = ({ category, name, id }: Template): SortKey => [category, name, id];

export function compareSortKeys(a: SortKey, b: SortKey): number {
  for (const [index, part] of a.entries()) {
    const other = b[index] ?? '';
    if (part !== other) return part < other ? -1 : 1;
  }
  return 0;
}

export const sortTemplates = (templates: readonly Template[]): Template[] =>
  templates.toSorted((a, b) => compareSortKeys(sortKeyOf(a), sortKeyOf(b)));

/** The templates that match the filter, in their original order. */
export function filterTemplates(
  templates: readonly Template[],
  { category, status, search }: TemplateFilter,
  statusOf: (id: string) => TemplateStatus,
): Template[] {
  const needle = foldCase(search);
  return templates.filter(
    (template) =>
      (category === '' || template.category === category) &&
      (status === '' || statusOf(template.id) === status) &&
      (foldCase(template.name).includes(needle) || foldCase(template.description).includes(needle)),
  );
}

interface TemplatePage {
  readonly templates: readonly Template[];
  /** The key after which the next page begins; undefined on the last page. */
  readonly last: SortKey | undefined;
}

/** The page after a key, of sorted templates. */
export function paginate(sorted: readonly Template[], after: SortKey | undefined, limit: number): TemplatePage {
  const rest = after ? sorted.filter((template) => compareSortKeys(sortKeyOf(template), after) > 0) : sorted;
  const templates = rest.slice(0, limit);
  const last = templates.at(-1);
  return { templates, last: rest.length > limit && last ? sortKeyOf(last) : undefined };
}
