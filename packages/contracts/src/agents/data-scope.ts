/** One entry of an agent's `data_scope.tables`, with the names as PostgreSQL keeps them. */
export interface TableScope {
  /** Null where the entry names none. */
  readonly schema: string | null;
  readonly table: string;
  /** Null: all of them. */
  readonly columns: readonly string[] | null;
}

/** PostgreSQL cuts longer names, so a longer one names nothing. */
const maxNameBytes = 63;
/** A UTF-16 unit has at most so many bytes in UTF-8. */
const maxBytesOfUnit = 3;
const maxColumns = 1_600;
const maxNames = 2;
const maxEntryLength = 32_000;

/**
 * Reads `orders`, `orders(id, total)`, `sales.orders` and `"Order items"("unit price")`. As in SQL, a name without quotes is meant in
 * lower case. Undefined for everything else.
 */
export function parseTableScope(text: string): TableScope | undefined {
  if (text.length > maxEntryLength) return undefined;
  const reader = readerOf(text);
  const names = nameList(reader, '.', maxNames);
  if (!names) return undefined;
  const columns = reader.take('(') ? columnList(reader) : null;
  if (columns === undefined || !reader.atEnd()) return undefined;
  const [schema, table] = names.length === 2 ? [names[0] ?? null, names[1]] : [null, names[0]];
  return table === undefined ? undefined : { schema, table, columns };
}

/** The entry in its shortest spelling: two entries mean the same when these are equal. */
export function formatTableScope({ schema, table, columns }: TableScope): string {
  const name = schema === null ? quoted(table) : `${quoted(schema)}.${quoted(table)}`;
  return columns === null ? name : `${name}(${columns.map(quoted).join(', ')})`;
}

// Every character beyond ASCII counts as a letter, because not all dialects of regular expressions know which are.
const space = String.raw`[ \t\r\n]*`;
const name = String.raw`([^\x00-@\[-\^\x60\{-\x7f][^\x00-#%-\/:-@\[-\^\x60\{-\x7f]*|"([^"\x00]|"")+")${space}`;

/** For documents: the pattern of an entry. The parser also refuses names that are too long, repeated, or no letters. */
export const tableScopePattern: string = `^${space}${name}([.]${space}${name})?([(]${space}${name}(,${space}${name})*[)]${space})?$`;

const utf8 = new TextEncoder();
const plain = /^[a-z_][a-z0-9_]*$/;
const quoted = (name: string): string => (plain.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

interface Reader {
  /** True if this very character comes next; then it is behind us. */
  take(character: string): boolean;
  name(): string | undefined;
  atEnd(): boolean;
}

const blanks = ' \t\r\n';
const bareName = /[\p{L}_][\p{L}\p{M}\p{N}_$]*/uy;
const quotedName = /"((?:[^"\0]|"")+)"/y;

/** Latin letters only, as PostgreSQL does it. */
const lowerCase = (name: string | undefined) => name?.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

function readerOf(text: string): Reader {
  let position = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position;
    const result = pattern.exec(text);
    if (result) position = pattern.lastIndex;
    return result;
  };
  const skipBlanks = () => {
    while (position < text.length && blanks.includes(text[position] as string)) position += 1;
  };
  return {
    take(character) {
      skipBlanks();
      if (text[position] !== character) return false;
      position += 1;
      return true;
    },
    name() {
      skipBlanks();
      const name = text[position] === '"' ? match(quotedName)?.[1]?.replaceAll('""', '"') : lowerCase(match(bareName)?.[0]);
      return name !== undefined && isShortEnough(name) ? name : undefined;
    },
    atEnd() {
      skipBlanks();
      return position === text.length;
    },
  };
}

/** A scope may hold 200,000 names, and encoding costs more than all else about them: only those are encoded whose length does not tell. */
function isShortEnough(name: string): boolean {
  const { length } = name;
  if (length > maxNameBytes) return false;
  return length * maxBytesOfUnit <= maxNameBytes || utf8.encode(name).byteLength <= maxNameBytes;
}

function nameList(reader: Reader, separator: string, max: number): string[] | undefined {
  const names: string[] = [];
  do {
    const name = reader.name();
    if (name === undefined || names.length === max) return undefined;
    names.push(name);
  } while (reader.take(separator));
  return names;
}

/** At least one, none twice, and the bracket closed. */
function columnList(reader: Reader): string[] | undefined {
  const columns = nameList(reader, ',', maxColumns);
  if (!columns || !reader.take(')')) return undefined;
  return new Set(columns).size === columns.length ? columns : undefined;
}
