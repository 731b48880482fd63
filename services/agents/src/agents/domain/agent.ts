export const statuses = ['draft', 'active', 'inactive'] as const;
export type Status = (typeof statuses)[number];

export const tiers = ['Fast', 'Smart', 'Expert', 'Premium'] as const;
export type Tier = (typeof tiers)[number];

/** What its owners decide about an agent. Absent texts are empty. */
export interface Definition {
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly model: Tier;
  readonly systemPrompt: string;
  readonly tables: readonly string[];
  readonly readOnly: boolean;
  readonly defaultFormat: string;
  readonly chartEnabled: boolean;
  readonly welcomeMessage: string;
  readonly suggestedPrompts: readonly string[];
}

export interface Agent extends Definition {
  readonly id: string;
  readonly status: Status;
  readonly createdBy: string;
  /** Empty for an agent that was not made from a template. */
  readonly sourceTemplateId: string;
  /** Goes up with every change. */
  readonly version: number;
  /** Milliseconds since 1970, as all times here. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a list shows of an agent. */
export type Summary = Pick<Agent, 'id' | 'name' | 'description' | 'category' | 'status' | 'model' | 'createdAt' | 'updatedAt'>;

const known =
  <Name extends string>(names: readonly Name[]) =>
  (name: string): name is Name =>
    (names as readonly string[]).includes(name);

export const isStatus = known(statuses);
export const isTier = known(tiers);

export interface Origin {
  readonly id: string;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly sourceTemplateId?: string;
}

/** A new agent: a draft until somebody activates it. */
export const draft = (definition: Definition, { id, createdBy, createdAt, sourceTemplateId = '' }: Origin): Agent => ({
  ...definition,
  id,
  status: 'draft',
  createdBy,
  sourceTemplateId,
  version: 1,
  createdAt,
  updatedAt: createdAt,
});
