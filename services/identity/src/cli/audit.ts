import type { Command } from 'commander';
import { group } from './group.ts';
import type { Run } from './run.ts';

const verifyLimitMs = 30_000;

export function auditCommands(program: Command, run: Run): void {
  const verb = group(program, 'audit', 'The audit log');
  verb('verify', 'recompute the hash chain and name what is off')
    .option('--organization <id>', 'one organization; all of them unless given', '')
    .action(({ organization }: { organization: string }) =>
      run(async ({ identity }) => {
        const { organizations, entries, faults } = await identity.verifyAuditChain(
          { organizationId: organization },
          { timeoutMs: verifyLimitMs },
        );
        if (faults.length > 0) process.exitCode = 2;
        return {
          organizations: Number(organizations),
          entries: Number(entries),
          faults: faults.map((fault) => ({
            organization_id: fault.organizationId,
            sequence: Number(fault.sequence),
            reason: fault.reason,
          })),
        };
      }),
    );
}
