import type { Store } from '@agent-service/store';
import { Client as Database } from 'pg';
import type { Discrepancy } from '../src/domain/equations.ts';
import { type Progress, verifyStep } from '../src/ledger/verify.ts';
import type { Clients } from './boot.ts';

/** All discrepancies that `credits verify` reports. */
export async function faultsOf({ operator }: Pick<Clients, 'operator'>): Promise<Discrepancy[]> {
  const discrepancies: Discrepancy[] = [];
  for (let cursor = ''; ; ) {
    const { faults, nextCursor } = await operator.verifyLedger({ organizationId: '', cursor }, { timeoutMs: 30_000 });
    discrepancies.push(
      ...faults.map(({ account, equation, expected, actual }) => ({
        account,
        equation,
        expected: Number(expected),
        actual: Number(actual),
      })),
    );
    if (nextCursor === '') return discrepancies;
    cursor = nextCursor;
  }
}

/** Queries the database directly. */
export async function query<Row extends object>(url: string, statement: string, values: unknown[] = []): Promise<Row[]> {
  const database = new Database({ connectionString: url, options: '-c search_path=credits -c timezone=UTC' });
  await database.connect();
  try {
    return (await database.query<Row>(statement, values)).rows;
  } finally {
    await database.end();
  }
}

/** All discrepancies of all tenants, read from the store. */
export async function verifyAll(store: Store, isFull = false): Promise<Discrepancy[]> {
  const discrepancies: Discrepancy[] = [];
  let progress: Progress | undefined;
  for (;;) {
    const step = await verifyStep(store, '', progress, isFull);
    if (step === undefined) return discrepancies;
    if ('failure' in step) throw step.failure;
    discrepancies.push(...step.faults);
    progress = step.progress;
  }
}
