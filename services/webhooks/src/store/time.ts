/** Times are milliseconds here and timestamps there; statements take them as text. */
export const toTimestamp = (ms: number): string => new Date(ms).toISOString();

export const toMs = (stored: string): number => new Date(stored).getTime();
export const toMsOrNull = (stored: string | null): number | null => (stored === null ? null : toMs(stored));
