/** A literal, whatever the text holds. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A column's name behind its table's, where no word is reserved. */
export const columnName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
