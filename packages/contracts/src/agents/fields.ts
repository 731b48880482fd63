import { z } from 'zod';
import { text } from '../text.ts';
import { parseTableScope, tableScopePattern } from './data-scope.ts';

/** Model quality levels, the cheapest first. */
export const tiers = ['Fast', 'Smart', 'Expert', 'Premium'] as const;
export type Tier = (typeof tiers)[number];

export const agentStatuses = ['active', 'inactive', 'draft'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

export const maxPrompts = 5;
const maxTables = 200;
const maxTextLength = 2_000;
const maxPromptLength = 32_000;

const example = {
  tables: ['orders(id, total, order_date)', 'customers'],
  scope: ['orders(id, total)', 'customers'],
  prompts: ['How much did we sell last month?'],
};

const tableScope = text(1, maxTextLength)
  .refine((value) => parseTableScope(value) !== undefined, 'must be a table, as orders, or a table with its columns, as orders(id, total)')
  .meta({ pattern: tableScopePattern });
const tier = z.enum(tiers).meta({ example: 'Fast' });
const outputFormat = z.enum(['markdown', 'table', 'text', 'json']).meta({
  description: 'How answers are written: `text` has no markup, `json` is one fenced block in markdown.',
  example: 'markdown',
});

/**
 * Objects of the API that hold some of the fields, and what their schemas are called in the OpenAPI document. A new agent must have a required one,
 * though its fields may be absent.
 */
export const agentGroups = {
  data_scope: { schemaName: 'DataScope', isRequired: true, example: { tables: example.scope, read_only: true } },
  output_preferences: { schemaName: 'OutputPreferences', isRequired: false, example: { default_format: 'markdown', chart_enabled: false } },
} as const;
export type GroupName = keyof typeof agentGroups;

interface AgentField {
  /** Validates what a caller sets. */
  readonly input: z.ZodType;
  /** Describes what a caller reads. */
  readonly output: z.ZodType;
  readonly group?: GroupName;
  /** The value of a field that was never set; without one the field is required. */
  readonly default?: unknown;
  readonly isListed?: boolean;
  /** Its text may be confidential, so audit entries and events do not contain it. */
  readonly isMasked?: boolean;
  /** Each attempt of an answer gets its value. */
  readonly isSentToWorkers?: boolean;
}

/**
 * The fields that an organization sets on an agent, by their names in the API. Validation, OpenAPI, conversions, entities and audit entries
 * derive from this table; CONTRIBUTING.md (Add a field to an agent) lists the other steps.
 */
export const agentFields = {
  name: {
    input: text(1, 100).meta({ example: 'Sales assistant' }),
    output: z.string().meta({ example: 'Sales assistant' }),
    isListed: true,
  },
  system_prompt: {
    input: text(1, maxPromptLength).meta({
      description: 'Instructions for the model.',
      example: 'You answer questions about sales in short sentences.',
    }),
    output: z.string().meta({ description: 'Instructions for the model.', example: 'You answer questions about sales.' }),
    isMasked: true,
    isSentToWorkers: true,
  },
  tables: {
    input: z.array(tableScope).max(maxTables).meta({
      description: 'The tables that the agent can read, or tables with their columns. None: no data.',
      example: example.tables,
    }),
    output: z.array(z.string()).meta({ description: 'The tables that the agent can read.', example: example.scope }),
    group: 'data_scope',
    default: [] as string[],
    isSentToWorkers: true,
  },
  read_only: {
    input: z.boolean().meta({ example: true }),
    output: z.boolean().meta({ example: true }),
    group: 'data_scope',
    default: true,
    isSentToWorkers: true,
  },
  description: {
    input: text(0, maxTextLength).meta({ example: 'Answers questions about sales.' }),
    output: z.string().meta({ example: 'Answers questions about sales.' }),
    default: '',
    isListed: true,
  },
  category: {
    input: text(0, maxTextLength).meta({ description: 'Free text, for filtering.', example: 'sales' }),
    output: z.string().meta({ example: 'sales' }),
    default: '',
    isListed: true,
  },
  model: { input: tier, output: tier, default: 'Fast', isListed: true },
  welcome_message: {
    input: text(0, maxTextLength).meta({ example: 'What do you want to know about your sales?' }),
    output: z.string().meta({ example: 'What do you want to know?' }),
    default: '',
  },
  suggested_prompts: {
    input: z.array(text(1, maxTextLength)).max(maxPrompts).meta({ example: example.prompts }),
    output: z.array(z.string()).meta({ example: example.prompts }),
    default: [] as string[],
    isMasked: true,
  },
  default_format: { input: outputFormat, output: outputFormat, group: 'output_preferences', default: 'markdown', isSentToWorkers: true },
  chart_enabled: {
    input: z.boolean().meta({
      description: 'True if answers in `markdown` or `table` may hold fenced `vega-lite` blocks; `text` and `json` have no place for them.',
      example: false,
    }),
    output: z.boolean().meta({ example: false }),
    group: 'output_preferences',
    default: false,
    isSentToWorkers: true,
  },
} as const satisfies Record<string, AgentField>;

type Fields = typeof agentFields;
export type FieldName = keyof Fields;
export type OptionalName = { [Name in FieldName]: Fields[Name] extends { default: unknown } ? Name : never }[FieldName];
/** The fields of a group; those of no group stand in the agent itself. */
export type NamesIn<Group> = {
  [Name in FieldName]: Fields[Name] extends { group: infer Own }
    ? Own extends Group
      ? Name
      : never
    : Group extends undefined
      ? Name
      : never;
}[FieldName];

type CamelCase<Text extends string> = Text extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Text;
type Value<Name extends FieldName> =
  z.output<Fields[Name]['input']> extends readonly (infer Item)[] ? readonly Item[] : z.output<Fields[Name]['input']>;

/** An agent's fields in memory, without groups. Absent texts are empty. */
export type AgentDefinition = { readonly [Name in FieldName as CamelCase<Name>]: Value<Name> };
type DefinitionKey = keyof AgentDefinition;
/** The fields that are to change; others stay. */
export type DefinitionChanges = { readonly [Key in DefinitionKey]?: AgentDefinition[Key] };

/** The same fields under one notation of their names, with their groups. `Some` leaves out other fields, and groups without fields. */
type Grouped<Values extends Record<FieldName, unknown>, Some extends FieldName = FieldName> = {
  [Name in NamesIn<undefined> & Some]: Values[Name];
} & {
  [Group in GroupName as NamesIn<Group> & Some extends never ? never : Group]: { [Name in NamesIn<Group> & Some]: Values[Name] };
};
type CamelCased<Nested> = {
  [Name in keyof Nested as CamelCase<Name & string>]: Name extends GroupName
    ? { [Inner in keyof Nested[Name] as CamelCase<Inner & string>]: Nested[Name][Inner] }
    : Nested[Name];
};
type Outputs = { [Name in FieldName]: z.output<Fields[Name]['output']> };
type Inputs = { [Name in FieldName]: z.output<Fields[Name]['input']> };
/** Lists have a message of their own, so that an empty list differs from an absent one. */
type Changes = { [Name in FieldName]: Inputs[Name] extends unknown[] ? { values: Inputs[Name] } : Inputs[Name] };
type WorkerFieldName = { [Name in FieldName]: Fields[Name] extends { isSentToWorkers: true } ? Name : never }[FieldName];
type ListedName = { [Name in FieldName]: Fields[Name] extends { isListed: true } ? Name : never }[FieldName];

export type ListedFields = Pick<Grouped<Outputs>, ListedName>;
export type DetailFields = Omit<Grouped<Outputs>, ListedName>;
export type DefinitionMessage = CamelCased<Grouped<Inputs>>;
/** The fields that workers get. */
export type WorkerFields = { readonly [Name in WorkerFieldName as CamelCase<Name>]: Value<Name> };
export type WorkerFieldsMessage = CamelCased<Grouped<Inputs, WorkerFieldName>>;
type PartialGroups<Message> = { [Name in keyof Message]?: Message[Name] extends unknown[] ? Message[Name] : Partial<Message[Name]> };
export type ChangesMessage = PartialGroups<CamelCased<Grouped<Changes>>>;

/** A row of the table with the names that follow from the field's own. */
export interface FieldEntry extends AgentField {
  /** The column has the same name. */
  readonly name: FieldName;
  readonly key: DefinitionKey;
  /** The name of its group in messages. */
  readonly groupKey: string | undefined;
  /** The path under which callers find it: `data_scope.tables`. */
  readonly path: string;
  readonly isList: boolean;
}

export const camelCase = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** In the order of the table. */
export const fieldEntries: readonly FieldEntry[] = Object.entries<AgentField>(agentFields).map(([name, field]) => ({
  ...field,
  name: name as FieldName,
  key: camelCase(name) as DefinitionKey,
  groupKey: field.group && camelCase(field.group),
  path: field.group ? `${field.group}.${name}` : name,
  isList: field.input instanceof z.ZodArray,
}));

export const workerEntries: readonly FieldEntry[] = fieldEntries.filter(({ isSentToWorkers }) => isSentToWorkers);
