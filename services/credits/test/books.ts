import { Client as Database } from 'pg';
import type { Clients } from './booted.ts';

export interface Fault {
  account: string;
  equation: string;
  expected: number;
  actual: number;
}

/** Everything that `credits verify` finds, over all its pages. */
export async function faultsOf({ operator }: Pick<Clients, 'operator'>): Promise<Fault[]> {
  const found: Fault[] = [];
  for (let cursor = ''; ; ) {
    const { faults, nextCursor } = await operator.verifyLedger({ organizationId: '', cursor }, { timeoutMs: 30_000 });
    found.push(
      ...faults.map(({ account, equation, expected, actual }) => ({
        account,
        equation,
        expected: Number(expected),
        actual: Number(actual),
      })),
    );
    if (nextCursor === '') return found;
    cursor = nextCursor;
  }
}

/** Asks the database itself, past the service. */
export async function query<Row extends object>(url: string, statement: string, values: unknown[] = []): Promise<Row[]> {
  const database = new Database({ connectionString: url, options: '-c search_path=credits -c timezone=UTC' });
  await database.connect();
  try {
    return (await database.query<Row>(statement, values)).rows;
  } finally {
    await database.end();
  }
}
