import { type AnyEntity, type EntityClass, type EntitySchema, MikroORM, p } from '@mikro-orm/postgresql';

export { defineEntity, type EntityManager, type InferEntity, LockMode, p, type RequiredEntityData } from '@mikro-orm/postgresql';

/** In milliseconds, as clocks, ids and cursors count. */
export const timestamp = () => p.datetime(3);
export const environment = () => p.enum(['live', 'test'] as const);

/** An index with an expression, a condition or options. Its migration defines it; the entity only names it. */
export const migratedIndex = (name: string) => ({ name, expression: 'see the migrations' });

interface SchemaUnderTest {
  readonly url: string;
  readonly schema: string;
  readonly entities: (EntityClass<AnyEntity> | EntitySchema)[];
}

/** The statements that would change a migrated schema into the one that its entities describe; empty if both agree. Tables without an entity are left out. */
export async function schemaDifference({ url, schema, entities }: SchemaUnderTest): Promise<string> {
  const orm = await MikroORM.init({
    clientUrl: url,
    schema,
    entities,
    logger: () => undefined,
    driverOptions: { options: `-c search_path=${schema}` },
    pool: { min: 0, max: 2 },
  });
  try {
    return (await orm.schema.getUpdateSchemaSQL({ wrap: false, dropTables: false })).trim();
  } finally {
    await orm.close(true);
  }
}
