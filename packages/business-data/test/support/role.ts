import pg from 'pg';
import { createDataSource, type DataSource } from '../../src/data-source.ts';
import { ensureRole } from '../../src/roles/ensure-role.ts';
import { planRole, rolePassword } from '../../src/roles/role-plan.ts';
import type { ResolvedScope } from '../../src/scope/scope.ts';

/** A scope's role by itself: whatever runs here meets gate four alone. */
export async function sourceOfRole(url: string, scope: ResolvedScope, tenant: string): Promise<DataSource> {
  const account = new URL(url);
  const owner = { tenant, database: account.pathname.slice(1), account: account.username };
  const plan = planRole(owner, scope, !scope.readOnly);
  const password = await rolePassword(url, plan.name);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const made = await ensureRole(client, plan, password);
    if (!made.made) throw new Error(made.reason);
  } finally {
    await client.end();
  }
  [account.username, account.password] = [plan.name, password];
  return createDataSource({ url: account.href }, () => undefined);
}
