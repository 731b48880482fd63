export interface SessionLimits {
  readonly timeoutMs: number;
  readonly timeZone: string;
}

export type Access = 'read only' | 'read write';

/**
 * Begins a transaction in which every setting that could change a statement's meaning or let it wait is given: one text, one round
 * trip, and nothing of it outlives the transaction, so that a pooler between here and the database does no harm.
 */
export function beginText(access: Access, { timeoutMs, timeZone }: SessionLimits): string {
  return [
    `begin transaction isolation level read committed ${access}`,
    `set local statement_timeout = ${timeoutMs}`,
    `set local lock_timeout = ${Math.min(timeoutMs, 2_000)}`,
    `set local idle_in_transaction_session_timeout = ${timeoutMs + 2_000}`,
    'set local search_path = pg_catalog, pg_temp',
    'set local standard_conforming_strings = on',
    'set local row_security = on',
    `set local timezone = '${timeZone.replaceAll("'", "''")}'`,
    `set local datestyle = 'ISO, YMD'`,
    `set local intervalstyle = 'postgres'`,
    `set local bytea_output = 'hex'`,
    'set local extra_float_digits = 1',
    'set local transform_null_equals = off',
    'set local jit = off',
  ].join('; ');
}
