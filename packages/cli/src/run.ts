import type { Connection } from './connection.ts';
import type { print } from './output.ts';

/** Runs one command against the services and prints what it answers. */
export type Run = (work: (connection: Connection) => Promise<Parameters<typeof print>[0]>) => Promise<void>;
