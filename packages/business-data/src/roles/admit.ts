import type { ClientBase } from 'pg';
import { translateFailure } from '../database/database-message.ts';
import { quote } from '../domain/identifiers.ts';
import type { RolePlan } from '../domain/role-plan.ts';
import type { ScopedTable } from '../domain/scope.ts';

const begin =
  'begin transaction read only; set local statement_timeout = 3000; set local lock_timeout = 1000; set local search_path = pg_catalog';

/** Logged in as the role: whether it is the role that has come in, and its views open for it. Otherwise why it can not be used. */
export async function refusalOf(client: ClientBase, { name, tables, writes }: RolePlan): Promise<string | undefined> {
  const { rows } = await client.query<{ is: boolean }>(
    'select current_user operator(pg_catalog.=) $1 and session_user operator(pg_catalog.=) $1 as is',
    [name],
  );
  if (!rows[0]?.is) return 'something before the data source logs its roles in as somebody else';
  const views = writes ? [] : tables.filter(({ kind }) => kind === 'view');
  return views.length > 0 && (await isDenied(client, views)) ? 'a view in scope uses what only the account may use' : undefined;
}

/** Opening a view asks for the rights on all that it calls, without reading a row. */
async function isDenied(client: ClientBase, views: readonly ScopedTable[]): Promise<boolean> {
  const looks = views.map(({ schema, name, columns }) => {
    const list = columns.map((column) => quote(column.name)).join(', ');
    return `select ${list} from ${quote(schema)}.${quote(name)} limit 0`;
  });
  try {
    await client.query([begin, ...looks, 'rollback'].join('; '));
    return false;
  } catch (cause) {
    const failure = translateFailure(cause);
    if (failure.kind === 'unavailable') throw failure;
    await client.query('rollback');
    // A view that is locked or broken is that for the account as well.
    return failure.sqlState === '42501';
  }
}
