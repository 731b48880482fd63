import pg from 'pg';
import { createDataSource, type DataSource } from '../../src/data-source.ts';
import { ensureRole } from '../../src/roles/ensure-role.ts';
import { planRole, rolePassword } from '../../src/roles/role-plan.ts';
import type { ResolvedScope } from '../../src/scope/scope.ts';

/** A data source that logs in as the role of a scope, so that statements pass only the role gate. */
export async function sourceOfRole(url: string, scope: ResolvedScope, tenant: string): Promise<DataSource> {
  const account = new URL(url);
  const owner = { tenant, database: account.pathname.slice(1), account: account.username };
  const plan = planRole(owner, scope, !scope.readOnly);
  const password = await rolePassword(url, plan.name);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const ensured = await ensureRole(client, plan, password);
    if (!ensured.isReady) throw new Error(ensured.reason);
  } finally {
    await client.end();
  }
  [account.username, account.password] = [plan.name, password];
  return createDataSource({ url: account.href }, () => undefined);
}
