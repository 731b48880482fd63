import { type Call, type IdempotencyKey, type Principal, ServiceError } from '@agent-service/contracts';
import type { Sql } from './sql.ts';
import type { Store, Transaction } from './store.ts';

const retentionHours = 24;

/** The table of idempotency records, for the first migration of a service. */
export const idempotencyTable = `
  create table idempotency_records (
    scope text primary key,
    fingerprint text not null,
    response jsonb not null,
    created_at timestamptz not null default now()
  );
  create index idempotency_records_created_at_index on idempotency_records (created_at);
`;

interface StoredResponse<Response> {
  fingerprint: string;
  response: Response;
}

/**
 * Runs an effect in one transaction, once for each Idempotency-Key. A repeated request gets the stored response, one with another body
 * is refused with `idempotency_key_reused`, and one during the first with `idempotency_in_progress`. An effect that is refused, or that
 * ends after its caller's deadline, is rolled back and stores nothing. In each process the effects of one organization run one after the other.
 */
export async function once<Response extends object>(
  store: Store,
  call: Call,
  effect: (transaction: Transaction) => Promise<Response>,
): Promise<Response> {
  const key = call.requestedOnce;
  if (!key) return await runChange(store, call, call.principal, effect);
  try {
    return await runChange(store, call, call.principal, (transaction) => runOnce(transaction, call, key, effect));
  } catch (cause) {
    // The request that is running may be another repetition of one that has ended.
    const isRunning = cause instanceof ServiceError && cause.code === 'idempotency_in_progress';
    const response = isRunning ? await storedResponse<Response>(store.sql, call, key) : undefined;
    if (response) return response;
    throw cause;
  }
}

/**
 * Runs a change in one transaction, in the lane of the principal's organization. The principal is a parameter because a call of the portal
 * carries none. A change that ends after its caller's deadline is rolled back.
 */
export function runChange<T>(
  store: Store,
  call: Call,
  principal: Pick<Principal, 'organizationId'> | undefined,
  change: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const inTime = async (transaction: Transaction) => {
    const result = await change(transaction);
    // A wait for a lock may have taken longer than the caller waits.
    call.checkDeadline();
    return result;
  };
  const { signal, requestedOnce } = call;
  return store.changeLimiter.run({ principal, signal, requestedOnce }, () => store.transaction(inTime));
}

async function runOnce<Response extends object>(
  transaction: Transaction,
  call: Call,
  key: IdempotencyKey,
  effect: (transaction: Transaction) => Promise<Response>,
): Promise<Response> {
  const { sql } = transaction;
  await reserve(sql, key.scope);
  const stored = await storedResponse<Response>(sql, call, key);
  if (stored) return stored;
  const response = await effect(transaction);
  await sql(
    `insert into idempotency_records (scope, fingerprint, response) values ($1, $2, $3)
     on conflict (scope) do update set fingerprint = excluded.fingerprint, response = excluded.response, created_at = now()`,
    [key.scope, key.fingerprint, JSON.stringify(response)],
  );
  return response;
}

async function reserve(sql: Sql, scope: string): Promise<void> {
  const [row] = await sql<{ reserved: boolean }>('select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as reserved', [scope]);
  if (!row?.reserved) throw new ServiceError('idempotency_in_progress');
}

/** Undefined where no request with this key has ended. */
async function storedResponse<Response>(sql: Sql, call: Call, { scope, fingerprint }: IdempotencyKey): Promise<Response | undefined> {
  const [row] = await sql<StoredResponse<Response>>(
    `select fingerprint, response from idempotency_records where scope = $1 and created_at > now() - interval '${retentionHours} hours'`,
    [scope],
  );
  if (!row) return undefined;
  if (row.fingerprint !== fingerprint) throw new ServiceError('idempotency_key_reused');
  call.replayed = true;
  return row.response;
}

/** Removes a bounded number of expired records; returns how many. */
export async function sweepIdempotency(sql: Sql): Promise<number> {
  const rows = await sql(
    // By ctid: a join by key reads the whole table if it was planned while the table was small.
    `delete from idempotency_records where ctid = any(array(
       select ctid from idempotency_records where created_at < now() - interval '${retentionHours} hours'
       order by created_at limit 1000 for update skip locked))
     returning 1`,
  );
  return rows.length;
}
