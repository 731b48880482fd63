import type { AgentDefinition } from '@agent-service/contracts/agents/fields';

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

export const missingPermissions = ({ requiredPermissions }: Template, held: readonly string[]): string[] =>
  requiredPermissions.filter((permission) => !held.includes(permission));
