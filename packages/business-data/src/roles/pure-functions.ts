/**
 * Extensions of PostgreSQL, and one that everybody knows, whose functions compute from their arguments alone: whoever calls them gets
 * the same. Others (postgis, tablefunc, dblink) read tables or run SQL as whoever asks.
 */
export const pureExtensions: readonly string[] = [
  'btree_gin',
  'btree_gist',
  'citext',
  'cube',
  'earthdistance',
  'fuzzystrmatch',
  'hstore',
  'intarray',
  'isn',
  'ltree',
  'pg_trgm',
  'pgcrypto',
  'seg',
  'unaccent',
  'uuid-ossp',
  'vector',
];

/** Calls of those functions of PostgreSQL's own that run SQL they are given, or read objects by name, with the rights of whoever asks. */
export const running =
  '\\m((query|table|schema|database|cursor)_to_xml(schema|_and_xmlschema)?|ts_stat|ts_rewrite|to_reg[a-z]+|lo_[a-z0-9_]+|loread|currval|set_config)\\(';
