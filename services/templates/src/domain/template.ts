export const categories = ['finance', 'sales', 'inventory', 'purchasing', 'hr'] as const;
export type Category = (typeof categories)[number];

export const tiers = ['Fast', 'Smart', 'Expert', 'Premium'] as const;
export type Tier = (typeof tiers)[number];

export const statuses = ['available', 'activated'] as const;
export type Status = (typeof statuses)[number];

/** What a version of a template brought. */
export interface Change {
  readonly version: string;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly changes: string;
}

/** The definition of an agent that is there for everybody, with what people should know before they take it. */
export interface Template {
  readonly id: string;
  readonly name: string;
  readonly category: Category;
  readonly description: string;
  readonly longDescription: string;
  readonly version: string;
  readonly model: Tier;
  readonly systemPrompt: string;
  readonly welcomeMessage: string;
  readonly suggestedPrompts: readonly string[];
  /** What its agents may read, as in a data scope. */
  readonly tables: readonly string[];
  readonly readOnly: boolean;
  readonly defaultFormat: string;
  readonly chartEnabled: boolean;
  /** Tables without which it has nothing to say. */
  readonly requiredTables: readonly string[];
  /** Scopes that whoever activates it must hold. */
  readonly requiredPermissions: readonly string[];
  /** Newest first, and never empty. */
  readonly changelog: readonly Change[];
}

const midnight = (date: string | undefined) => `${date}T00:00:00.000Z`;

/** A template is as old as its first version, and was changed with its newest. */
export const createdAt = ({ changelog }: Template): string => midnight(changelog.at(-1)?.date);
export const updatedAt = ({ changelog }: Template): string => midnight(changelog[0]?.date);

/** What of this the caller does not hold. */
export const missingPermissions = ({ requiredPermissions }: Template, held: readonly string[]): string[] =>
  requiredPermissions.filter((permission) => !held.includes(permission));
