import { z } from 'zod';
import { ServiceError } from '../errors/service-error.ts';
import {
  type AgentDefinition,
  type ChangesMessage,
  type DefinitionChanges,
  type DefinitionMessage,
  type DetailFields,
  type FieldEntry,
  fieldEntries,
  type WorkerFields,
  type WorkerFieldsMessage,
  workerEntries,
} from './fields.ts';

type Nested = Record<string, unknown>;
type Read = (nested: object, entry: FieldEntry) => unknown;

/** The names of a field and of its group in one notation. */
interface Notation {
  readonly name: 'name' | 'key';
  readonly group: 'group' | 'groupKey';
}
const apiNotation: Notation = { name: 'name', group: 'group' };
const messageNotation: Notation = { name: 'key', group: 'groupKey' };

/** Puts the values that are there into their groups, under the names of one notation. */
function nest(values: DefinitionChanges, entries: readonly FieldEntry[], notation: Notation): Nested {
  const nested: Nested = {};
  for (const entry of entries) {
    const value = values[entry.key];
    if (value === undefined) continue;
    const group = entry[notation.group];
    const holder = group === undefined ? nested : ((nested[group] ??= {}) as Nested);
    holder[entry[notation.name]] = value;
  }
  return nested;
}

/** The value of a field, or undefined where it or its group is absent. */
const readBy =
  (notation: Notation): Read =>
  (nested, entry) => {
    const group = entry[notation.group];
    const holder = group === undefined ? nested : (nested as Nested)[group];
    return (holder as Nested | null | undefined)?.[entry[notation.name]];
  };
const readApi = readBy(apiNotation);
const readMessage = readBy(messageNotation);

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
  return nest(collect((entry) => readMessage(message, entry)) as DefinitionChanges, details, apiNotation) as DetailFields;
}

/** The message of a definition, for requests and responses alike. */
export const definitionToMessage = (definition: AgentDefinition): DefinitionMessage =>
  nest(definition, fieldEntries, messageNotation) as unknown as DefinitionMessage;

/** The part of a worker's message that holds the fields of the agent. */
export const workerFieldsToMessage = (fields: WorkerFields): WorkerFieldsMessage =>
  nest(fields, workerEntries, messageNotation) as unknown as WorkerFieldsMessage;

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
    messageNotation,
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
