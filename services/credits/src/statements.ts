import { dueStatements } from './store/due.ts';
import { loadStatements } from './store/load.ts';
import { saveStatements } from './store/save.ts';
import { balanceStatements } from './store/verify/balances.ts';
import { firstAndLastDayStatements } from './store/verify/first-and-last-days.ts';
import { provenMonthStatements } from './store/verify/proven-months.ts';
import { rollupStatements } from './store/verify/rollups.ts';
import { stepStatements } from './store/verify/steps.ts';

/** The statements with a fixed text. Reads of usage are composed for each form of a request, and test/usage.property.test.ts runs them all. */
export const creditStatements: Readonly<Record<string, string>> = {
  ...loadStatements,
  ...saveStatements,
  ...dueStatements,
  ...balanceStatements,
  ...stepStatements,
  ...provenMonthStatements,
  ...rollupStatements,
  ...firstAndLastDayStatements,
};
