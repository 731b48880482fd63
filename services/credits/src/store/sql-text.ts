/** A timestamp column as the milliseconds since 1970 that the domain counts in. */
export const milliseconds = (column: string): string => `extract(epoch from ${column}) * 1000 as ${column}`;
