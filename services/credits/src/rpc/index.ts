import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { CreditsContext } from '../context.ts';
import { aggregateUsage } from './aggregate-usage.ts';
import { getBalance } from './get-balance.ts';
import { getUserBalance } from './get-user-balance.ts';
import { grant } from './grant.ts';
import { hold } from './hold.ts';
import { listOverdueHolds } from './list-overdue-holds.ts';
import { listUsage } from './list-usage.ts';
import { release } from './release.ts';
import { setAllocation } from './set-allocation.ts';
import { settle } from './settle.ts';
import { summarizeUsage } from './summarize-usage.ts';
import { updateSettings } from './update-settings.ts';
import { verifyLedger } from './verify-ledger.ts';

/** Every method of the contract, each in the file of its name. */
export const implementation = (context: CreditsContext): Implementation<'credits'> => ({
  aggregateUsage: aggregateUsage(context),
  getBalance: getBalance(context),
  getUserBalance: getUserBalance(context),
  grant: grant(context),
  hold: hold(context),
  listOverdueHolds: listOverdueHolds(context),
  listUsage: listUsage(context),
  release: release(context),
  setAllocation: setAllocation(context),
  settle: settle(context),
  summarizeUsage: summarizeUsage(context),
  updateSettings: updateSettings(context),
  verifyLedger: verifyLedger(context),
  ...outboxMethods(context.store, () => context.auditRelay.nudge()),
});
