import { type Call, callers, checkId, type RpcOf } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import type { Tenant } from '../domain/accounts.ts';
import { runBatch } from '../domain/batch.ts';
import type { ReadOperation, Result } from '../domain/operations.ts';
import { findUsers } from '../store/load.ts';
import { toUserBalance } from './messages.ts';
import { expect } from './outcomes.ts';

export const getUserBalance = (context: CreditsContext): RpcOf<'credits', 'getUserBalance'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle({ userId }, call) {
    const { organizationId, environment } = call.tenant;
    const read: ReadOperation = { kind: 'read', userId: checkId(userId, 'user_id') };
    const result = await decide(context, { organizationId, environment }, read, call);
    return { balance: toUserBalance(expect(result, 'read').user) };
  },
});

/** A read that changes nothing is answered from what stands, without the ledger's lock; the first of a month turns the account. */
async function decide({ store, ledgers, queue, now }: CreditsContext, tenant: Tenant, read: ReadOperation, call: Call): Promise<Result> {
  const ledger = await ledgers.find(tenant);
  const users = await findUsers(store.sql, tenant, new Set([read.userId]));
  const { results, ledger: changed } = runBatch({ ledger, users, holds: new Map(), remembered: new Map() }, now(), [read]);
  const [result] = results;
  return result && changed === null ? result : await queue.submit(tenant, read, call.expiresAt - performance.now());
}
