/** A role that nobody has used for so long is dropped. */
export const daysKept = 7;

/** What an administrator of the data source finds said of a role of ours. Its day is read by `writtenDay`. */
export const roleComment = (family: string, day: string): string =>
  `Agent Service: holds what one agent of the tenant behind ${family} may use, and is dropped when unused for ${daysKept} days. Last used on ${day}.`;

/** The day in a comment, as a regular expression of PostgreSQL and of JavaScript. */
export const writtenDay = 'Last used on ([0-9]{4}-[0-9]{2}-[0-9]{2})';

export const dayOf = (comment: string | null): string | undefined => new RegExp(writtenDay).exec(comment ?? '')?.[1];
