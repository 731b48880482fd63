import { startInProcess } from '../credits/in-process.ts';
import { startRowLocks } from '../credits/row-locks.ts';
import { startCreditsService } from '../credits/service.ts';
import { type DurablePostgres, startDurablePostgres } from '../durable-postgres.ts';
import { type Pair, pairsPerSecond } from '../pairs.ts';
import { median, type Scenario } from '../scenario.ts';

const atOnce = 500;
/** More would only wait longer in line for the same rows. */
const rowLocksAtOnce = 16;
const warmUpSeconds = 1;
const seconds = 2;
const rounds = 3;
const summary = 'Which ten customers bought the most in the last quarter, and how did that change against the quarter before, by region?';

interface Round {
  service: number;
  kernel: number;
  floor: number;
}

/** The gain of batches of one tenant in one transaction, where all wait for the same rows. */
export const creditsHot: Scenario = {
  name: 'credits-hot',
  about: `hold and settle pairs of one organization and user, ${atOnce} answers at once, against the same steps as row-locking transactions`,
  async run(say) {
    const postgres = await startDurablePostgres();
    try {
      const measured = await measure(postgres, say);
      const overGrpc = measured.map(({ service, floor }) => service / floor);
      const kernelAndStore = measured.map(({ kernel, floor }) => kernel / floor);
      return {
        promises: [
          { name: 'pairs a second through gRPC, times row locks', measured: median(overGrpc), atLeast: 5 },
          { name: 'pairs a second of kernel and store, times row locks', measured: median(kernelAndStore), atLeast: 10 },
        ],
        figures: { atOnce, rounds, overGrpc, kernelAndStore, ...figuresOf(measured) },
      };
    } finally {
      await postgres.stop();
    }
  },
};

/** Pairs a second. */
const figuresOf = (measured: readonly Round[]) => ({
  service: median(measured.map(({ service }) => service)),
  kernel: median(measured.map(({ kernel }) => kernel)),
  floor: median(measured.map(({ floor }) => floor)),
});

async function measure({ url, folder }: DurablePostgres, say: (line: string) => void): Promise<Round[]> {
  const service = await startCreditsService(url, folder, summary);
  await service.endow();
  const inProcess = await startInProcess(url, summary);
  const rowLocks = await startRowLocks(url, summary);
  const run = (pair: Pair, length: number) =>
    pairsPerSecond({ pair, atOnce: pair === rowLocks.pair ? rowLocksAtOnce : atOnce, seconds: length });
  try {
    for (const { pair } of [service, inProcess, rowLocks]) await run(pair, warmUpSeconds);
    const measured: Round[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const one: Round = {
        service: await run(service.pair, seconds),
        kernel: await run(inProcess.pair, seconds),
        floor: await run(rowLocks.pair, seconds),
      };
      measured.push(one);
      const [through, kernel, floor] = [one.service, one.kernel, one.floor].map(Math.round);
      say(`round ${round}: ${through} pairs/s through gRPC, ${kernel} by kernel and store, ${floor} by row locks`);
    }
    return measured;
  } finally {
    await rowLocks.stop();
    await inProcess.stop();
    await service.stop();
  }
}
