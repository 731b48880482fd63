import { randomUUID } from 'node:crypto';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's own id where it is one, else a new one. */
export const requestIdOf = (header: string | undefined): string =>
  header !== undefined && acceptable.test(header) ? header : randomUUID();
