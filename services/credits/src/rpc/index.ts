import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { getBalance, getUserBalance, setAllocation, updateSettings } from './balances.ts';
import { hold, listOverdueHolds, release, settle } from './holds.ts';
import { grant, verifyLedger } from './operator.ts';
import { listUsage, summarizeUsage } from './usage.ts';
import { aggregateUsage } from './usage-groups.ts';

/** Every method of the contract. */
export const implementation = (deps: CreditsDeps): Implementation<'credits'> => ({
  aggregateUsage: aggregateUsage(deps),
  getBalance: getBalance(deps),
  getUserBalance: getUserBalance(deps),
  grant: grant(deps),
  hold: hold(deps),
  listOverdueHolds: listOverdueHolds(deps),
  listUsage: listUsage(deps),
  release: release(deps),
  setAllocation: setAllocation(deps),
  settle: settle(deps),
  summarizeUsage: summarizeUsage(deps),
  updateSettings: updateSettings(deps),
  verifyLedger: verifyLedger(deps),
  ...outboxMethods(deps.store, () => deps.auditRelay.nudge()),
});
