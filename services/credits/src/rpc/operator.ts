import { checkId, checkTenant, operators, type RpcOf, ServiceError, type Tenant } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { isAmount, MAX_GRANT } from '../domain/accounts.ts';
import type { Discrepancy } from '../domain/equations.ts';
import { type Progress, verifyStep } from '../ledger/verify.ts';
import { requireSuccess, toOrganizationBalance } from './balances.ts';

/** Adds purchased credits to the pool, once for each id. */
export const grant = ({ store, ledgers, auditRelay }: CreditsDeps): RpcOf<'credits', 'grant'> => ({
  allow: operators,
  async handle({ tenant: message, grantId, amount }, call) {
    const tenant = checkTenant(message);
    const id = checkId(grantId, 'grant_id');
    const credits = checkGrant(Number(amount));
    await ledgers.prepare();
    const response = await store.transaction(async ({ sql }) => {
      const { result, ledger, repeated } = await ledgers.apply(sql, tenant, { kind: 'grant', id, amount: credits });
      requireSuccess(result, 'grant');
      if (!repeated) {
        await writeAudit(sql, call, {
          action: 'credits.granted',
          ...tenant,
          target: { type: 'organization', id: tenant.organizationId },
          changes: { grant_id: id, amount: credits },
        });
      }
      return { balance: toOrganizationBalance(tenant.organizationId, ledger) };
    });
    auditRelay.nudge();
    return response;
  },
});

function checkGrant(amount: number): number {
  if (isAmount(amount, 1, MAX_GRANT)) return amount;
  throw new ServiceError('invalid_request', { message: `amount must be a whole number from 1 to ${MAX_GRANT}.`, param: 'amount' });
}

/** No further step begins after this time; the caller continues with the cursor. After a second another replica would do the same. */
const callLimitMs = 700;

export const verifyLedger = ({ store, cursors }: CreditsDeps): RpcOf<'credits', 'verifyLedger'> => ({
  allow: operators,
  async handle({ organizationId, cursor, full }) {
    const binding = ['verify', organizationId, String(full)];
    const deadline = performance.now() + callLimitMs;
    const faults: ReturnType<typeof toFault>[] = [];
    let progress = progressOf(cursors.decode(binding, cursor)?.after);
    let tenants = 0;
    for (;;) {
      const step = await verifyStep(store, organizationId, progress, full);
      if (step === undefined) return { tenants, faults, nextCursor: '' };
      progress = step.progress;
      if (progress.month === null) tenants += 1;
      faults.push(...step.faults.map((fault) => toFault(step.progress.tenant, fault)));
      if (performance.now() > deadline) return { tenants, faults, nextCursor: cursors.encode(binding, { after: keyOf(progress) }) };
    }
  },
});

const keyOf = ({ tenant, month }: Progress) => [tenant.organizationId, tenant.environment, month ?? -1];

function progressOf(after: readonly (string | number)[] | undefined): Progress | undefined {
  if (!after) return undefined;
  const [organizationId, environment, month] = after as [string, Tenant['environment'], number];
  return { tenant: { organizationId, environment }, month: month === -1 ? null : month };
}

const toFault = (tenant: Tenant, { account, equation, expected, actual }: Discrepancy) => ({
  tenant: { organizationId: tenant.organizationId, environment: tenant.environment },
  account,
  equation,
  expected,
  actual,
});
