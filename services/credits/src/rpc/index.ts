import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { CreditsContext } from '../context.ts';
import { getBalance, getUserBalance, setAllocation, updateSettings } from './balances.ts';
import { hold, listOverdueHolds, release, settle } from './holds.ts';
import { grant, verifyLedger } from './operator.ts';
import { listUsage, summarizeUsage } from './usage.ts';
import { aggregateUsage } from './usage-groups.ts';

/** Every method of the contract. */
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
