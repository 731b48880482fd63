import { z } from 'zod';
import { ServiceError } from '../errors/service-error.ts';
import {
  type AgentDefinition,
  type ChangesMessage,
  camelCase,
  type DefinitionChanges,
  type DefinitionMessage,
  type DetailFields,
  type FieldEntry,
  fieldEntries,
} from './fields.ts';

type Nested = Record<string, unknown>;
type Read = (nested: object, entry: FieldEntry) => unknown;

const apiName = (name: string): string => name;

/** Puts the values that are there into their groups, under the names of one notation. */
function nest(values: DefinitionChanges, entries: readonly FieldEntry[], nameOf: (name: string) => string): Nested {
  const nested: Nested = {};
  for (const { name, key, group } of entries) {
    if (values[key] === undefined) continue;
    const holder = group === undefined ? nested : ((nested[nameOf(group)] ??= {}) as Nested);
    holder[nameOf(name)] = values[key];
  }
  return nested;
}

/** The value of a field, or undefined where it or its group is absent. */
const readBy =
  (nameOf: (name: string) => string): Read =>
  (nested, { name, group }) => {
    const holder = group === undefined ? nested : (nested as Nested)[nameOf(group)];
    return (holder as Nested | null | undefined)?.[nameOf(name)];
  };
const readApi = readBy(apiName);
const readMessage = readBy(camelCase);

const collect = (read: (entry: FieldEntry) => unknown): Nested => {
  const values = fieldEntries.map((entry) => [entry.key, read(entry)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
};

/** A validated body of the API without its groups. */
export const definitionFromBody = (body: object): AgentDefinition => collect((entry) => readApi(body, entry)) as unknown as AgentDefinition;

/** A validated merge patch: null, for a field or its group, is the default; what is absent stays absent. */
export const changesFromBody = (body: object): DefinitionChanges =>
  collect((entry) => {
    const isGroupCleared = entry.group !== undefined && (body as Nested)[entry.group] === null;
    const value = isGroupCleared ? null : readApi(body, entry);
    return value === null ? entry.default : value;
  }) as DefinitionChanges;

/** Groups before optional fields, as the API has always shown them. */
export const shownEntries: readonly FieldEntry[] = [
  ...fieldEntries.filter((entry) => entry.group === undefined && entry.default === undefined),
  ...fieldEntries.filter((entry) => entry.group !== undefined),
  ...fieldEntries.filter((entry) => entry.group === undefined && entry.default !== undefined),
];

/** The fields of an agent's message that lists do not show, as callers read them. */
export function detailsFromMessage(message: object): DetailFields {
  const details = shownEntries.filter(({ isListed }) => !isListed);
  return nest(collect((entry) => readMessage(message, entry)) as DefinitionChanges, details, apiName) as DetailFields;
}

/** The message of a definition, for requests and responses alike. */
export const definitionToMessage = (definition: AgentDefinition): DefinitionMessage =>
  nest(definition, fieldEntries, camelCase) as unknown as DefinitionMessage;

/** Absent and empty values of a message become defaults. Throws where a name is not one of those that the field allows. */
export const definitionFromMessage = (message: object): AgentDefinition =>
  collect((entry) => {
    const value = readMessage(message, entry);
    return checkName(entry, value === undefined || (value === '' && entry.default !== undefined) ? entry.default : value);
  }) as unknown as AgentDefinition;

/** In a message of changes a list has a message of its own, so that an empty list differs from an absent one. */
export const changesToMessage = (changes: DefinitionChanges): ChangesMessage =>
  nest(
    collect(({ key, isList }) => (isList && changes[key] !== undefined ? { values: changes[key] } : changes[key])) as DefinitionChanges,
    fieldEntries,
    camelCase,
  ) as ChangesMessage;

export const changesFromMessage = (message: object): DefinitionChanges =>
  collect((entry) => {
    const value = readMessage(message, entry) ?? undefined;
    return checkName(entry, entry.isList ? (value as { values?: unknown } | undefined)?.values : value);
  }) as DefinitionChanges;

function checkName({ input, path }: FieldEntry, value: unknown): unknown {
  if (value === undefined || !(input instanceof z.ZodEnum) || input.options.includes(value as string)) return value;
  throw new ServiceError('invalid_request', { message: `${path} must be one of ${input.options.join(', ')}.`, param: path });
}
