import { randomUUID } from 'node:crypto';
import { isAway, ServiceError } from '@agent-service/contracts';
import { createBackoff, retry } from '@agent-service/work';
import type { Command } from 'commander';
import { group, type Run, requireOrganization, type TenantOptions, withTenant } from './commands.ts';
import type { Connection } from './connection.ts';

/**
 * A call verifies for some seconds and returns a cursor. Its longest steps are a month of a tenant, half a minute for a million answers, more where each has another
 * user and agent, and the balances, which add up all months that are not proven. A month of 10 answers a second has 26 million.
 */
const verifyLimitMs = 7_200_000;
/** A part is repeated so often where its replica ends, or the database is away for some seconds. */
const maxAttempts = 6;
const pauseAfter = createBackoff({ firstMs: 100, maxMs: 2_000 });

interface GrantOptions extends TenantOptions {
  amount: string;
  id?: string;
}

export function creditCommands(program: Command, run: Run): void {
  const verb = group(program, 'credits', 'Credits of organizations');
  withTenant(verb('grant', "add purchased credits to an organization's balance"))
    .requiredOption('--amount <credits>', 'a whole number, at most 1000000000000')
    .option('--id <id>', 'id of the grant: a repetition under the same id changes nothing')
    .action(({ organization, environment, amount, id: ownId }: GrantOptions) =>
      run(async ({ identity, credits }) => {
        // credits opens a ledger for any organization; identity checks that it exists.
        await requireOrganization({ identity }, organization);
        const tenant = { organizationId: organization, environment };
        const id = ownId ?? randomUUID();
        const request = { tenant, grantId: id, amount: checkAmount(amount) };
        if (ownId === undefined) process.stderr.write(`grant_id: ${id} (repeat with --id ${id} if this is interrupted)\n`);
        const { balance } = await credits.grant(request).catch(refuseUnknownOutcome(id));
        return { grant_id: id, balance: Number(balance?.balance), unallocated: Number(balance?.unallocated) };
      }),
    );
  verb('verify', 'prove every ledger against its transfers, holds and usage, and name what is wrong')
    .option('--organization <id>', 'one organization; all of them unless given', '')
    .option('--full', 'add up the months again that were proven before')
    .action(({ organization, full = false }: { organization: string; full?: boolean }) =>
      run(async ({ identity, credits }) => {
        // A wrong id has no ledger, in which no fault is.
        if (organization !== '') await requireOrganization({ identity }, organization);
        const { unverified, ...result } = await verify(credits, organization, full);
        const ok = result.faults.length === 0 && unverified.length === 0;
        if (!ok) process.exitCode = result.faults.length > 0 ? 2 : 1;
        return { ok, ...result, ...(unverified.length > 0 && { unverified }) };
      }),
    );
}

/** A repetition without this id would add the credits a second time, if they have been added. */
const refuseUnknownOutcome = (id: string) => (cause: unknown) => {
  const { code, message } = ServiceError.from(cause);
  if (!isAway(code)) throw cause;
  throw new ServiceError(code, { message: `${message} The credits may have been added: repeat the command with --id ${id}.`, cause });
};

async function verify(credits: Connection['credits'], organizationId: string, full: boolean) {
  let tenants = 0;
  const faults: Record<string, unknown>[] = [];
  const unverified: Record<string, unknown>[] = [];
  let cursor = '';
  do {
    const request = { organizationId, cursor, full, skipFailing: true };
    const part = await retry(() => credits.verifyLedger(request, { timeoutMs: verifyLimitMs, isSentOnce: true }), {
      pauseAfter: (failures, cause) =>
        failures < maxAttempts && ServiceError.from(cause).code === 'unavailable' ? pauseAfter(failures) : undefined,
    });
    tenants += Number(part.tenants);
    for (const { tenant, account, equation, expected, actual } of part.faults)
      faults.push({ ...tenantOutput(tenant), account, equation, expected: Number(expected), actual: Number(actual) });
    for (const { tenant, code } of part.unverified) unverified.push({ ...tenantOutput(tenant), code });
    cursor = part.nextCursor;
  } while (cursor !== '');
  return { tenants, faults, unverified };
}

const tenantOutput = (tenant: { organizationId: string; environment: string } | null) => ({
  organization_id: tenant?.organizationId,
  environment: tenant?.environment,
});

function checkAmount(text: string): string {
  if (/^[1-9]\d{0,15}$/.test(text)) return text;
  throw new Error('--amount must be a whole number above 0.');
}
