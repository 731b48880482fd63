/** A timestamp as the driver hands it over (the session's time zone is UTC) in the form callers see. */
export const isoTime = (stored: string): string => new Date(stored).toISOString();
