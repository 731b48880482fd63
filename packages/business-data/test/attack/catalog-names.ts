import { readFileSync } from 'node:fs';

type NameKind = 'function' | 'type' | 'column' | 'operator';

const lines = readFileSync(new URL('./catalog-names.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter(Boolean);

export const catalogNamesQuery: string = readFileSync(new URL('./catalog-names.sql', import.meta.url), 'utf8');

/** Names of pg_catalog in any supported major version; the query in catalog-names.sql lists them. */
export const catalogNames = (...kinds: readonly NameKind[]): readonly string[] => [
  ...new Set(lines.map((line) => line.split(' ')).flatMap(([kind, name = '']) => (kinds.includes(kind as NameKind) ? [name] : []))),
];

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
