import type { Sql } from '@agent-service/store';
import type { Tenant } from '../domain/accounts.ts';
import type { Outcome, Remembered } from '../domain/state.ts';
import type { Loaded } from './load.ts';
import { type Part, type PartKind, statementOf } from './parts.ts';
import { endedHoldsOf, newHoldsOf } from './save-holds.ts';
import { guardOf, transfersOf, usersOf } from './save-ledger.ts';
import { usageOf } from './save-usage.ts';

/**
 * Writes what a batch did in one statement, whatever its size, if the ledger is still as it was loaded. Answers with the ledger's
 * stamp from then on; undefined where nothing was written since somebody else has. Where many rows are the rule they go as one
 * array a column: the database takes these in half the time of JSON.
 */
export async function saveOutcome(sql: Sql, tenant: Tenant, { state, stamp }: Loaded, outcome: Outcome): Promise<string | undefined> {
  const parts = partsOf(state.holds, outcome);
  if (outcome.ledger === null && parts.length === 0) return stamp;
  const all = [guardOf(outcome.ledger), ...parts];
  const values = [tenant.organizationId, tenant.environment, stamp, ...all.flatMap((part) => part.values)];
  const [saved] = await sql<{ stamp: string }>(statementOf(all.map(({ kind }) => kind)), values);
  return saved?.stamp;
}

function partsOf(before: ReadonlyMap<string, unknown>, outcome: Outcome): Part[] {
  const { ledger, users, transfers, holds, usage, remembered } = outcome;
  const fresh = holds.filter(({ id }) => !before.has(id));
  const known = holds.filter(({ id }) => before.has(id));
  const parts: Part[] = [];
  if (ledger !== null && users.length > 0) parts.push(usersOf(outcome));
  if (ledger !== null && transfers.length > 0) parts.push(transfersOf(outcome, ledger.updatedAt));
  if (fresh.length > 0) parts.push(newHoldsOf(fresh));
  if (known.length > 0) parts.push(endedHoldsOf(known));
  if (usage.length > 0) parts.push(usageOf(usage));
  if (remembered.length > 0) parts.push(rememberedOf(remembered));
  return parts;
}

const rememberedKind: PartKind = {
  name: 'remembered',
  size: 1,
  text: (slot) => `remembered as (
    insert into operations (organization_id, environment, id, fingerprint, result, at)
    select $1, $2, id, fingerprint, result, to_timestamp(at / 1000)
    from guard, jsonb_to_recordset(${slot(1)}::jsonb) as operation(id text, fingerprint bigint, result jsonb, at float8))`,
};

const rememberedOf = (remembered: readonly Remembered[]): Part => ({ kind: rememberedKind, values: [JSON.stringify(remembered)] });
