import type { Sql } from '@agent-service/store';
import type { Discrepancy } from '../../domain/equations.ts';

/** The limit of discrepancies that one step of a verification reports. */
export const maxDiscrepancies = 100;

/** The discrepancies that a statement finds. Its last parameter is `maxDiscrepancies`, which this adds to the values. */
export async function findDiscrepancies(sql: Sql, statement: string, values: readonly string[]): Promise<Discrepancy[]> {
  const rows = await sql<Record<keyof Discrepancy, string>>(statement, [...values, maxDiscrepancies]);
  return rows.map((row) => ({ ...row, expected: Number(row.expected), actual: Number(row.actual) }));
}
