import { dueStatements } from './due.ts';
import { loadStatements } from './load.ts';
import { saveStatements } from './save.ts';
import { balanceStatements } from './verify/balances.ts';
import { firstAndLastDayStatements } from './verify/first-and-last-days.ts';
import { provenMonthStatements } from './verify/proven-months.ts';
import { rollupStatements } from './verify/rollups.ts';

/** The statements with a fixed text. Reads of usage are composed for each form of a request, and test/usage.property.test.ts runs them all. */
export const creditStatements: Readonly<Record<string, string>> = {
  ...loadStatements,
  ...saveStatements,
  ...dueStatements,
  ...balanceStatements,
  ...provenMonthStatements,
  ...rollupStatements,
  ...firstAndLastDayStatements,
};
