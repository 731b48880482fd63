import type { ClientBase } from 'pg';

/** One transaction of the account that makes roles; kept when the work says so. */
export async function accountTransaction<T extends { readonly keep: boolean }>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query(
    `begin transaction isolation level read committed read write; set local statement_timeout = 10000; set local lock_timeout = 5000;
     set local search_path = pg_catalog, pg_temp; set local standard_conforming_strings = on`,
  );
  const result = await work();
  await client.query(result.keep ? 'commit' : 'rollback');
  return result;
}

/** Two processes that make the same role at once would meet in its catalogue row. */
const lockNumber = 7_120_331;

export async function lockRoles(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [lockNumber]);
}
