import { organizationBalance } from '../accounts.ts';
import type { SettingsOperation } from '../operations.ts';
import { replenish } from '../replenish.ts';
import type { Result } from '../results.ts';
import type { Workspace } from '../workspace.ts';

/** Changes what is named and leaves the rest. Replenishment that this switches on or raises happens at once. */
export function settings(work: Workspace, operation: SettingsOperation): Result {
  work.changeSettings(operation.changes);
  replenish(work, `settings:${operation.id}`);
  return { ok: true, kind: 'settings', organization: organizationBalance(work.ledger) };
}
