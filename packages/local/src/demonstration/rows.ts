export type Value = string | number | boolean | null;
export type Row = Readonly<Record<string, Value>>;

export const euros = (cents: number): string => (cents / 100).toFixed(2);
export const cents = (row: Row, column: string): number => Math.round(Number(row[column]) * 100);
export const cyclic = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;
export const emailName = (name: string) => name.toLowerCase().replaceAll(/[^a-z]+/g, '.');
