import { p } from '@mikro-orm/postgresql';

export { defineEntity, type EntityManager, type InferEntity, LockMode, p, type RequiredEntityData } from '@mikro-orm/postgresql';

/** In milliseconds, as clocks, ids and cursors count. */
export const timestamp = () => p.datetime(3);
export const environment = () => p.enum(['live', 'test'] as const);

/** An index with an expression, a condition or options. Its migration defines it; the entity only names it. */
export const migratedIndex = (name: string) => ({ name, expression: 'see the migrations' });
