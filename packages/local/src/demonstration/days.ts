const dayMs = 86_400_000;

/** A date without a time, as YYYY-MM-DD. */
export type Day = string;

export const dayOf = (time: Date): Day => time.toISOString().slice(0, 10);

export const plusDays = (day: Day, days: number): Day => dayOf(new Date(Date.parse(day) + days * dayMs));

export const daysBetween = (from: Day, to: Day): number => Math.round((Date.parse(to) - Date.parse(from)) / dayMs);

/** Monday is 1 and Sunday 7. */
export const weekday = (day: Day): number => new Date(day).getUTCDay() || 7;
