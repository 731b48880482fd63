import type { ProcessContext } from '@agent-service/runtime';
import { startSweep, sweepIdempotency } from '@agent-service/store';
import type { CreditsContext } from './context.ts';
import { createMonthTurner } from './ledger/turn-months.ts';
import { removeEndedHolds, removeOldOperations } from './store/sweeps.ts';

const everyMinute = 60_000;
const everyHour = 3_600_000;

/** What is done without being asked for. Every replica does it; a step that another has done finds nothing. */
export function startSweeps(process: ProcessContext, { store, ledgers, now }: CreditsContext): void {
  const turnMonths = createMonthTurner({ store, ledgers, logger: process.logger, now });
  startSweep(process, 'month turn', everyMinute, turnMonths);
  startSweep(process, 'ended holds', everyMinute, () => removeEndedHolds(store.sql, now()));
  startSweep(process, 'old operations', everyHour, () => removeOldOperations(store.sql, now()));
  startSweep(process, 'idempotency', everyMinute, () => sweepIdempotency(store.sql));
  startSweep(process, 'usage partitions', everyHour, async () => {
    await ledgers.prepare();
    return 0;
  });
}
