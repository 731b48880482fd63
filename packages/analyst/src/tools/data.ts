import type { Result } from './presentation.ts';
import type { Schema } from './schema.ts';

/** Why there is nothing to read, in words for the reader. */
export interface Unreadable {
  readonly error: string;
}

/** The organization's data as far as the agent may see it. */
export interface Data {
  schema(): Promise<Schema | Unreadable>;
  query(sql: string): Promise<Pick<Result, 'rows' | 'truncated'> | Unreadable>;
}
