import { checkId, checkTenant, operators, type RpcOf, ServiceError, type Tenant } from '@agent-service/contracts';
import type { Logger } from '@agent-service/runtime';
import { writeAudit } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { isAmount, maxGrant } from '../domain/accounts.ts';
import type { Discrepancy } from '../domain/equations.ts';
import { type Progress, type Step, verifyStep } from '../ledger/verify.ts';
import { toOrganizationBalance } from './balances.ts';
import { requireSuccess } from './holds.ts';

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
  if (isAmount(amount, 1, maxGrant)) return amount;
  throw new ServiceError('invalid_request', { message: `amount must be a whole number from 1 to ${maxGrant}.`, param: 'amount' });
}

/**
 * No further step begins after this time; the caller continues with the cursor. Below a second, because the command line of the previous
 * release sends a slower call to another replica as well.
 */
const callLimitMs = 700;

export const verifyLedger = ({ store, cursors, logger }: CreditsDeps): RpcOf<'credits', 'verifyLedger'> => ({
  allow: operators,
  async handle({ organizationId, cursor, full, skipFailing }) {
    const binding = ['verify', organizationId, String(full)];
    const deadline = performance.now() + callLimitMs;
    const verified: Verified = { tenants: 0, faults: [], unverified: [] };
    let progress = progressOf(cursors.decode(binding, cursor)?.after);
    for (;;) {
      const step = await verifyStep(store, organizationId, progress, full);
      if (step === undefined) return { ...verified, nextCursor: '' };
      if ('failure' in step && !skipFailing) throw step.failure;
      addStep(verified, step, logger);
      progress = step.progress;
      if (performance.now() > deadline) return { ...verified, nextCursor: cursors.encode(binding, { after: keyOf(progress) }) };
    }
  },
});

interface Verified {
  tenants: number;
  faults: ReturnType<typeof toFault>[];
  unverified: { tenant: Tenant; code: string }[];
}

function addStep(verified: Verified, step: Step, logger: Logger): void {
  const { tenant, month } = step.progress;
  verified.faults.push(...step.faults.map((fault) => toFault(tenant, fault)));
  if ('failure' in step) {
    const { organizationId, environment } = tenant;
    const { code } = ServiceError.from(step.failure);
    // Only the log says why: the caller gets the code.
    logger.error({ event: 'verification_failed', organization_id: organizationId, environment, code, err: step.failure });
    verified.unverified.push({ tenant: { organizationId, environment }, code });
  } else if (month === null) verified.tenants += 1;
}

const keyOf = ({ tenant, month, firstFault, differs, end, isRight }: Progress) => [
  tenant.organizationId,
  tenant.environment,
  month ?? -1,
  firstFault ?? -1,
  differs ? 1 : 0,
  end ?? -1,
  isRight ? 1 : 0,
];

function progressOf(after: readonly (string | number)[] | undefined): Progress | undefined {
  if (!after) return undefined;
  // A replica of the previous release does not say which months have faults: then no month counts as proven.
  const [organizationId, environment, month, firstFault = 0, differs = 0, end = 0, isRight = 0] = after as [
    string,
    Tenant['environment'],
    number,
    ...number[],
  ];
  const numbers = { month: month === -1 ? null : month, firstFault: numberOf(firstFault), end: numberOf(end) };
  return { tenant: { organizationId, environment }, ...numbers, differs: differs === 1, isRight: isRight === 1 };
}

const numberOf = (stored: number) => (stored === -1 ? undefined : stored);

const toFault = (tenant: Tenant, { account, equation, expected, actual }: Discrepancy) => ({
  tenant: { organizationId: tenant.organizationId, environment: tenant.environment },
  account,
  equation,
  expected,
  actual,
});
