import { z } from 'zod';
import { shownEntries } from './definition.ts';
import {
  type agentFields,
  agentGroups,
  type DetailFields,
  type FieldEntry,
  type FieldName,
  fieldEntries,
  type GroupName,
  type ListedFields,
  type NamesIn,
  type OptionalName,
} from './fields.ts';

type Fields = typeof agentFields;
type Schemas = Record<string, z.ZodType>;
type Clearable<Schema extends z.ZodType> = z.ZodOptional<z.ZodNullable<Schema>>;

type NewField<Name extends FieldName> = Name extends OptionalName ? z.ZodDefault<Fields[Name]['input']> : Fields[Name]['input'];
type ChangedField<Name extends FieldName> = Name extends OptionalName
  ? Clearable<Fields[Name]['input']>
  : z.ZodOptional<Fields[Name]['input']>;
type NewGroup<Group extends GroupName> = z.ZodObject<{ [Name in NamesIn<Group>]: NewField<Name> }, z.core.$strict>;
type ChangedGroup<Group extends GroupName> = z.ZodObject<{ [Name in NamesIn<Group>]: ChangedField<Name> }, z.core.$strict>;

/** Fields and groups in the order of the table; a group stands where its first field does. */
function shapeOf(fieldOf: (entry: FieldEntry) => z.ZodType, groupOf: (name: GroupName, fields: Schemas) => z.ZodType): Schemas {
  const groups = Map.groupBy(fieldEntries, ({ group }) => group);
  return Object.fromEntries(
    fieldEntries.map((entry) => {
      const { name, group } = entry;
      if (group === undefined) return [name, fieldOf(entry)];
      return [group, groupOf(group, Object.fromEntries((groups.get(group) ?? []).map((own) => [own.name, fieldOf(own)])))];
    }),
  );
}

const withDefault = ({ input, default: fallback }: FieldEntry): z.ZodType => (fallback === undefined ? input : input.default(fallback));
const clearable = (schema: z.ZodType): z.ZodType => schema.nullable().optional();

/** The body of a new agent. */
export const newAgentShape = shapeOf(withDefault, (name, fields) => {
  const { schemaName, isRequired, example } = agentGroups[name];
  const group = z.strictObject(fields).meta({ id: `${schemaName}Input` });
  return (isRequired ? group : group.prefault({})).meta({ example });
}) as { [Name in NamesIn<undefined>]: NewField<Name> } & {
  [Group in GroupName]: (typeof agentGroups)[Group]['isRequired'] extends true ? NewGroup<Group> : z.ZodPrefault<NewGroup<Group>>;
};

/** A merge patch (RFC 7396): what is absent stays, null goes back to the default where a field has one. */
export const agentChangesShape = shapeOf(
  ({ input, default: fallback }) => (fallback === undefined ? input.optional() : clearable(input)),
  (name, fields) => {
    const { schemaName, isRequired, example } = agentGroups[name];
    const group = z.strictObject(fields).meta({ id: `${schemaName}Changes` });
    return isRequired ? group.optional().meta({ example }) : clearable(group);
  },
) as { [Name in NamesIn<undefined>]: ChangedField<Name> } & {
  [Group in GroupName]: (typeof agentGroups)[Group]['isRequired'] extends true
    ? z.ZodOptional<ChangedGroup<Group>>
    : Clearable<ChangedGroup<Group>>;
};

type ShapeOf<Values> = { [Name in keyof Values]: z.ZodType<Values[Name]> };

const outputsOf = (entries: readonly FieldEntry[]): Schemas => {
  const shape: Schemas = {};
  for (const { name, group, output } of entries) {
    if (group === undefined) shape[name] = output;
    else
      shape[group] ??= z
        .strictObject(Object.fromEntries(entries.filter((entry) => entry.group === group).map((entry) => [entry.name, entry.output])))
        .meta({ id: agentGroups[group].schemaName });
  }
  return shape;
};

/** The fields of a definition in lists, and the others. */
export const listedShape = outputsOf(shownEntries.filter(({ isListed }) => isListed)) as ShapeOf<ListedFields>;
export const detailShape = outputsOf(shownEntries.filter(({ isListed }) => !isListed)) as ShapeOf<DetailFields>;
