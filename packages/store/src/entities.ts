import { ArrayType, type Platform, p } from '@mikro-orm/postgresql';

export { defineEntity, type EntityManager, type InferEntity, LockMode, p, type RequiredEntityData } from '@mikro-orm/postgresql';

/** In milliseconds, as clocks, ids and cursors count. */
export const timestamp = () => p.datetime(3);
export const environment = () => p.enum(['live', 'test'] as const);

/** Quotes each text, and escapes as PostgreSQL reads: MikroORM quotes some only, by JSON, so that NULL, spaces and line breaks are changed. */
class TextsType extends ArrayType<string> {
  override convertToDatabaseValue(value: string[] | null): string | null {
    return value && `{${value.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
  }
  /** Processes of the version before wrote the text NULL, in any case, as null. */
  override convertToJSValue(value: string[] | string | null, platform: Platform): string[] | null {
    return super.convertToJSValue(value, platform)?.map((text: string | null) => text ?? 'NULL') ?? null;
  }
}

/** A list of texts. */
export const texts = () => p.type(TextsType);

/** A list of texts in a statement of our own, read as the type reads it: processes of the version before may still write null. */
export const textsIn = (column: string): string => `array_replace(${column}, null, 'NULL')`;

/** An index with an expression, a condition or options. Its migration defines it; the entity only names it. */
export const migratedIndex = (name: string) => ({ name, expression: 'see the migrations' });
