import type { Sql } from '@agent-service/store';
import type { Ledger, UserAccount } from '../domain/accounts.ts';
import type { Hold } from '../domain/holds.ts';
import type { Operation } from '../domain/operations.ts';
import type { Result } from '../domain/results.ts';
import { type LedgerState, type Remembered, touchedBy } from '../domain/state.ts';
import type { Tenant } from '../domain/tenant.ts';
import { milliseconds } from './sql-text.ts';

/** What a batch touches, read under the ledger's lock. */
export async function loadState(sql: Sql, tenant: Tenant, ledger: Ledger, operations: readonly Operation[]): Promise<LedgerState> {
  const touched = touchedBy(operations);
  const holds = await findHolds(sql, tenant, touched.holds);
  for (const hold of holds.values()) if (hold.state === 'open') touched.users.add(hold.userId);
  const users = await findUsers(sql, tenant, touched.users);
  const remembered = await findRemembered(sql, tenant, touched.remembered);
  return { ledger, users, holds, remembered };
}

interface HoldRow {
  id: string;
  user_id: string;
  amount: number;
  deadline: string;
  state: Hold['state'];
  charge: number;
  settled_as: string | null;
  refusal: Hold['refusal'];
  created_at: string;
  ended_at: string | null;
}

const toHold = (row: HoldRow): Hold => ({
  id: row.id,
  userId: row.user_id,
  amount: row.amount,
  deadline: Number(row.deadline),
  state: row.state,
  charge: row.charge,
  settledAs: row.settled_as === null ? null : Number(row.settled_as),
  refusal: row.refusal,
  createdAt: Number(row.created_at),
  endedAt: row.ended_at === null ? null : Number(row.ended_at),
});

async function findHolds(sql: Sql, { organizationId, environment }: Tenant, ids: Set<string>): Promise<Map<string, Hold>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<HoldRow>(
    `select id, user_id, amount, ${milliseconds('deadline')}, state, charge, settled_as, refusal, ${milliseconds('created_at')},
       ${milliseconds('ended_at')}
     from holds where organization_id = $1 and environment = $2 and id = any($3)`,
    [organizationId, environment, [...ids]],
  );
  return new Map(rows.map((row) => [row.id, toHold(row)]));
}

export interface UserRow {
  user_id: string;
  balance: string;
  held: string;
  monthly_limit: number;
  carried: number;
  used: string;
  rollover: boolean;
  month: number;
  effective_from: string;
  updated_at: string;
}

export const userColumns = (table: string): string =>
  `${table}.user_id, ${table}.balance, ${table}.held, ${table}.monthly_limit, ${table}.carried, ${table}.used, ${table}.rollover, ${table}.month,
   extract(epoch from ${table}.effective_from) * 1000 as effective_from, extract(epoch from ${table}.updated_at) * 1000 as updated_at`;

export const toUser = (row: UserRow): UserAccount => ({
  userId: row.user_id,
  balance: Number(row.balance),
  held: Number(row.held),
  monthlyLimit: row.monthly_limit,
  carried: row.carried,
  used: Number(row.used),
  rollover: row.rollover,
  month: row.month,
  effectiveFrom: Number(row.effective_from),
  updatedAt: Number(row.updated_at),
});

/** The accounts of these users; who has none yet is not in the answer. */
export async function findUsers(sql: Sql, { organizationId, environment }: Tenant, ids: Set<string>): Promise<Map<string, UserAccount>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<UserRow>(
    `select ${userColumns('account')} from user_accounts as account where organization_id = $1 and environment = $2 and user_id = any($3)`,
    [organizationId, environment, [...ids]],
  );
  return new Map(rows.map((row) => [row.user_id, toUser(row)]));
}

interface OperationRow {
  id: string;
  fingerprint: string;
  result: Result;
  at: string;
}

async function findRemembered(sql: Sql, { organizationId, environment }: Tenant, ids: Set<string>): Promise<Map<string, Remembered>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<OperationRow>(
    `select id, fingerprint, result, ${milliseconds('at')} from operations where organization_id = $1 and environment = $2 and id = any($3)`,
    [organizationId, environment, [...ids]],
  );
  return new Map(rows.map(({ id, fingerprint, result, at }) => [id, { id, fingerprint: Number(fingerprint), result, at: Number(at) }]));
}
